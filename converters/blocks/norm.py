"""Root-mean-square norms, alone or fused with the residual addition."""

from converters.builder import Builder
from converters.graph import MICROSOFT, Value


def stream_norm(b: Builder, x: Value, name: str) -> Value:
    """x / rms(x) * weight over the last axis, on the residual stream; the stored weight already holds any offset."""
    return normalize(b, x, b.weights.vector(f"{name}.weight", b.spec.hidden, dtype=b.stream_dtype))


def normalize(b: Builder, x: Value, weight: Value) -> Value:
    """RMS norm with a given weight."""
    result: Value = b.graph.op(
        "SimplifiedLayerNormalization", x, weight, axis=-1, epsilon=b.spec.norm_epsilon, stash_type=1
    )
    return result


def add_stream_norm(b: Builder, residual: Value, x: Value, name: str) -> tuple[Value, Value]:
    """(norm(residual + x), residual + x) in one node."""
    outputs = b.graph.op(
        "SkipSimplifiedLayerNormalization",
        residual,
        x,
        b.weights.vector(f"{name}.weight", b.spec.hidden, dtype=b.stream_dtype),
        domain=MICROSOFT,
        outputs=4,
        epsilon=b.spec.norm_epsilon,
    )
    outputs[1].name = outputs[2].name = ""  # mean and inverse deviation are not wanted
    return outputs[0], outputs[3]
