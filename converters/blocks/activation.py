"""Activation functions, and what is kept in front of one."""

from converters.blocks.context import WIDE, Build
from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.spec import ClampedSwiglu, Xielu


def activation(c: GraphContext, x: Value, kind: str | Xielu) -> Value:
    """An activation function by its name in `Mlp`."""
    if isinstance(kind, Xielu):
        return _xielu(c, x, kind)
    if kind == "silu":
        return c.operators.silu(c, x)
    if kind == "gelu_tanh":
        return c.operators.gelu_tanh(c, x)
    positive = c.graph.op("Relu", x)
    if kind == "relu":
        return positive
    assert kind == "relu_squared", kind
    return c.graph.op("Mul", positive, positive)


def gated(c: GraphContext, gate: Value | None, up: Value, kind: str | Xielu | ClampedSwiglu) -> Value:
    """What a feed-forward's last product reads: up through the activation, or up times gate through it."""
    if isinstance(kind, ClampedSwiglu):
        assert gate is not None
        return _clamped_swiglu(c, gate, up, kind)
    return activation(c, up, kind) if gate is None else c.graph.op("Mul", activation(c, gate, kind), up)


def _clamped_swiglu(c: GraphContext, gate: Value, up: Value, kind: ClampedSwiglu) -> Value:
    """gate sigmoid(alpha gate) (up + 1), of a gate of at most the limit, and up within plus and minus it."""
    g, limit = c.graph, c.number("swiglu_limit", kind.limit)
    gate = g.op("Min", gate, limit)
    up = g.op("Clip", up, c.number("swiglu_low", -kind.limit), limit)
    opened = g.op("Mul", gate, g.op("Sigmoid", g.op("Mul", gate, c.number("swiglu_alpha", kind.alpha))))
    return g.op("Mul", opened, g.op("Add", up, c.number("one", 1.0)))


def _xielu(c: GraphContext, x: Value, kind: Xielu) -> Value:
    """beta x + p x^2 for positive x; beta x + n (expm1(min(x, eps)) - x) for others."""
    g = c.graph
    zero = c.number("zero", 0.0)
    above = g.op("Mul", g.op("Mul", x, x), c.number("xielu_positive", kind.positive))
    # expm1 has no operator: with t = tanh(x / 2) it is 2 t / (1 - t), which does not cancel near 0
    t = g.op("Tanh", g.op("Mul", g.op("Min", x, c.number("xielu_epsilon", kind.epsilon)), c.number("half", 0.5)))
    grown = g.op("Div", g.op("Mul", t, c.number("two", 2.0)), g.op("Sub", c.number("one", 1.0), t))
    below = g.op("Mul", g.op("Sub", grown, x), c.number("xielu_negative", kind.negative))
    curve = g.op("Where", g.op("Greater", x, zero), above, below)
    return g.op("Add", curve, g.op("Mul", x, c.number("xielu_beta", kind.beta)))


def above_deviations(b: Build, x: Value, deviations: float, width: int) -> Value:
    """x [..., width]: what exceeds the mean of the last axis by so many standard deviations, the rest 0.

    The deviation is the sample's, over width - 1. In float32: float16 holds no sum of so many squares.
    """
    c, g = b.c, b.c.graph
    with g.scope("sparsity"):
        wide = b.wide(x)
        centred = g.op("Sub", wide, g.op("ReduceMean", wide, g.ints(-1), keepdims=1))
        squares = g.op("ReduceSum", g.op("Mul", centred, centred), g.ints(-1), keepdims=1)
        deviation = g.op("Sqrt", g.op("Div", squares, c.number("degrees_of_freedom", width - 1, WIDE)))
        least = g.op("Mul", deviation, c.number("deviations", deviations, WIDE))
        return b.narrow(g.op("Relu", g.op("Sub", centred, least)))
