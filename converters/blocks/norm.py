"""Root-mean-square and layer norms, alone or fused with the residual addition."""

import numpy as np

from converters.blocks.context import Build
from converters.graph.graph import Value
from converters.sources.source import Order


def stream_norm(b: Build, x: Value, name: str, epsilon: float | None = None) -> Value:
    """The norm `name` over the last axis, on the residual stream; the stored weight already holds any offset.

    With the model's epsilon, unless another is given.
    """
    return _normalize(b, x, *_parameters(b, name, b.spec.hidden, None, b.residual_dtype), epsilon)


def norm(b: Build, x: Value, name: str, width: int, *, order: Order = None, dtype: str | None = None) -> Value:
    """The model's kind of norm over the last axis of `width` channels, with the weights that the file has."""
    return _normalize(b, x, *_parameters(b, name, width, order, dtype))


def norm_or_plain(b: Build, x: Value, name: str, width: int) -> Value:
    """As `norm`, without weights where the file has none of this name."""
    return norm(b, x, name, width) if f"{name}.weight" in b.weights else plain_norm(b, x, width)


def plain_norm(b: Build, x: Value, width: int) -> Value:
    """The model's kind of norm over the last axis of `width` channels, without weights."""
    return _normalize(b, x, _ones(b, width, b.c.target.dtype), None)


def norm_of_each(b: Build, x: Value, name: str, shape: tuple[int, int], order: Order) -> Value:
    """A norm over the last axis of x [..., heads, channels] with a weight for each head and channel: `shape`."""
    y = plain_norm(b, x, shape[1])
    return b.c.graph.op("Mul", y, b.weights.vector(f"{name}.weight", shape, order))


def add_stream_norm(b: Build, residual: Value, x: Value, name: str) -> tuple[Value, Value]:
    """(norm(residual + x), residual + x), in one node where there is one."""
    if not b.c.operators.adds_before_norm:
        total = b.c.graph.op("Add", residual, x, name="residual")
        return stream_norm(b, total, name), total
    return _add_norm(b, residual, x, name, b.spec.hidden, b.residual_dtype)


def norm_of_halves(b: Build, half: Value, name: str, width: int) -> Value:
    """norm(half + half), where there is one node for that: on GPUs in half the time of a norm alone."""
    return _add_norm(b, half, half, name, width, b.c.target.dtype)[0]


def _add_norm(b: Build, residual: Value, x: Value, name: str, width: int, dtype: str) -> tuple[Value, Value]:
    weight, bias = _parameters(b, name, width, None, dtype)
    kind = b.spec.norm
    y, total = b.c.operators.add_norm(b.c, residual, x, weight, bias, kind.kind, kind.epsilon)
    return (_shifted(b, y, bias) if kind.kind == "rms" else y), total


def _parameters(b: Build, name: str, width: int, order: Order, dtype: str | None) -> tuple[Value, Value | None]:
    """Weight and, for norms that have one, bias."""
    if not b.spec.norm.weights:
        return _ones(b, width, dtype or b.c.target.dtype), None
    weight = b.weights.vector(_weight(b, name), (width,), order, dtype)
    may_have = b.spec.norm.kind == "layer" or b.spec.norm.biased
    if not may_have or f"{name}.bias" not in b.weights:
        return weight, None
    return weight, b.weights.vector(f"{name}.bias", (width,), order, dtype)


def _weight(b: Build, name: str) -> str:
    """Some converters leave the suffix out."""
    return name if name in b.weights else f"{name}.weight"


def _ones(b: Build, width: int, dtype: str) -> Value:
    return b.c.graph.constant(f"ones_{width}_{dtype}", np.ones(width, dtype))


def _zeros(b: Build, like: Value) -> Value:
    assert like.shape is not None and like.dtype is not None
    (width,) = like.shape
    return b.c.graph.constant(f"zeros_{width}_{like.dtype}", np.zeros(int(width), like.dtype))


def _normalize(b: Build, x: Value, weight: Value, bias: Value | None, own_epsilon: float | None = None) -> Value:
    epsilon = b.spec.norm.epsilon if own_epsilon is None else own_epsilon
    if b.spec.norm.kind == "rms":
        return _shifted(b, b.c.operators.rms_norm(b.c, x, weight, epsilon), bias)
    bias = bias or _zeros(b, weight)  # without one, SkipLayerNormFusion of ONNX Runtime 1.32 ends the process
    return b.c.graph.op("LayerNormalization", x, weight, bias, axis=-1, epsilon=epsilon, stash_type=1)


def _shifted(b: Build, y: Value, bias: Value | None) -> Value:
    """The operators of rms norms have no place for a bias."""
    return y if bias is None else b.c.graph.op("Add", y, bias)
