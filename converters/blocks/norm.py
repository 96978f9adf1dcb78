"""Root-mean-square norms, alone or fused with the residual addition."""

from converters.builder import Builder
from converters.graph import MICROSOFT, Value


def rms_norm(b: Builder, x: Value, name: str, width: int) -> Value:
    """x / rms(x) * weight over the last axis; the stored weight already holds any offset."""
    weight = b.weights.vector(f"{name}.weight", width)
    return normalize(b, x, weight)


def normalize(b: Builder, x: Value, weight: Value) -> Value:
    """RMS norm with a given weight."""
    result: Value = b.graph.op(
        "SimplifiedLayerNormalization", x, weight, axis=-1, epsilon=b.spec.norm_epsilon, stash_type=1
    )
    return result


def add_rms_norm(b: Builder, residual: Value, x: Value, name: str, width: int) -> tuple[Value, Value]:
    """(norm(residual + x), residual + x) in one node."""
    outputs = b.graph.op(
        "SkipSimplifiedLayerNormalization",
        residual,
        x,
        b.weights.vector(f"{name}.weight", width),
        domain=MICROSOFT,
        outputs=4,
        epsilon=b.spec.norm_epsilon,
    )
    outputs[1].name = outputs[2].name = ""  # mean and inverse deviation are not wanted
    return outputs[0], outputs[3]
