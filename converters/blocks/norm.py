"""Root-mean-square and layer norms, alone or fused with the residual addition."""

import numpy as np

from converters.blocks.context import Builder
from converters.graph.graph import MICROSOFT, Value
from converters.weights.weights import Rows


def stream_norm(b: Builder, x: Value, name: str) -> Value:
    """The norm `name` over the last axis, on the residual stream; the stored weight already holds any offset."""
    return norm(b, x, name, b.spec.hidden, dtype=b.stream_dtype)


def norm(b: Builder, x: Value, name: str, width: int, *, order: Rows | None = None, dtype: str | None = None) -> Value:
    """The model's kind of norm over the last axis of `width` channels, with the weights that the file has."""
    return _normalize(b, x, *_parameters(b, name, width, order, dtype))


def norm_of_each(b: Builder, x: Value, name: str, shape: tuple[int, int], order: Rows | None) -> Value:
    """A norm over the last axis of x [..., heads, channels] with a weight for each head and channel: `shape`."""
    y = _normalize(b, x, _ones(b, shape[1], b.target.dtype), None)
    result: Value = b.graph.op("Mul", y, b.weights.vector(f"{name}.weight", shape, order))
    return result


def add_stream_norm(b: Builder, residual: Value, x: Value, name: str) -> tuple[Value, Value]:
    """(norm(residual + x), residual + x) in one node."""
    if b.target.standard:
        total = b.graph.op("Add", residual, x, name="residual")
        return stream_norm(b, total, name), total
    weight, bias = _parameters(b, name, b.spec.hidden, None, b.stream_dtype)
    rms = b.spec.norm.kind == "rms"
    outputs = b.graph.op(
        "SkipSimplifiedLayerNormalization" if rms else "SkipLayerNormalization",
        *([residual, x, weight] if rms else [residual, x, weight, bias]),
        domain=MICROSOFT,
        outputs=4,
        epsilon=b.spec.norm.epsilon,
    )
    outputs[1].name = outputs[2].name = ""  # mean and inverse deviation are not wanted
    return outputs[0], outputs[3]


def _parameters(b: Builder, name: str, width: int, order: Rows | None, dtype: str | None) -> tuple[Value, Value | None]:
    """Weight and, for layer norms that have one, bias."""
    if not b.spec.norm.weights:
        return _ones(b, width, dtype or b.target.dtype), None
    weight = b.weights.vector(f"{name}.weight", (width,), order, dtype)
    if b.spec.norm.kind == "rms" or f"{name}.bias" not in b.weights:
        return weight, None
    return weight, b.weights.vector(f"{name}.bias", (width,), order, dtype)


def _ones(b: Builder, width: int, dtype: str) -> Value:
    return b.graph.constant(f"ones_{width}_{dtype}", np.ones(width, dtype))


def _zeros(b: Builder, like: Value) -> Value:
    assert like.shape is not None and like.dtype is not None
    (width,) = like.shape
    return b.graph.constant(f"zeros_{width}_{like.dtype}", np.zeros(int(width), like.dtype))


def _normalize(b: Builder, x: Value, weight: Value, bias: Value | None) -> Value:
    eps = b.spec.norm.epsilon
    result: Value
    if b.spec.norm.kind == "rms":
        op = "RMSNormalization" if b.target.standard else "SimplifiedLayerNormalization"
        result = b.graph.op(op, x, weight, axis=-1, epsilon=eps, stash_type=1)
    else:  # without a bias, SkipLayerNormFusion of ONNX Runtime 1.32 ends the process
        bias = bias or _zeros(b, weight)
        result = b.graph.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=eps, stash_type=1)
    return result
