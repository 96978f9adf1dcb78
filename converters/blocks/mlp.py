"""Feed-forward blocks, gated or not, and their activations."""

from converters.blocks.context import Builder
from converters.blocks.linear import linear, stackable, stacked_linear
from converters.blocks.norm import norm
from converters.graph.graph import MICROSOFT, Value
from converters.spec import FeedForward, Xielu


def feed_forward(b: Builder, x: Value, block: FeedForward, prefix: str) -> Value:
    """[..., hidden] -> [..., hidden]."""
    g, hidden = b.graph, b.spec.hidden
    with g.scope("mlp"):
        if block.gate == "none":
            y = activation(b, linear(b, x, f"{prefix}.ffn_up", block.width, hidden), block.activation)
        else:
            gate, up = _gate_and_up(b, x, block, prefix)
            y = g.op("Mul", activation(b, gate, block.activation), up)
        if block.sub_norm:
            y = norm(b, y, f"{prefix}.ffn_sub_norm", block.width)
        if block.divisors:
            y = g.op("Div", y, b.weights.vector(f"{prefix}.ffn.act.scales", (block.width,)))
        return linear(b, y, f"{prefix}.ffn_down", hidden, block.width)


def _gate_and_up(b: Builder, x: Value, block: FeedForward, prefix: str) -> tuple[Value, Value]:
    """Both products of x; as one where the file has them so, or where that saves a correction, worth a Split."""
    names, hidden, width = (f"{prefix}.ffn_gate", f"{prefix}.ffn_up"), b.spec.hidden, block.width
    if block.gate == "fused":
        both = linear(b, x, names[1], 2 * width, hidden)
    else:
        kind = b.weights.kept(f"{names[0]}.weight")
        if not (kind and kind.offset and b.target.stack_gate_up and stackable(b, names)):
            return linear(b, x, names[0], width, hidden), linear(b, x, names[1], width, hidden)
        both = stacked_linear(b, x, f"{prefix}.ffn_gate_up", [(name, width, None) for name in names], hidden)
    gate, up = b.graph.op("Split", both, b.graph.ints(width, width), outputs=2, axis=-1)
    return gate, up


def activation(b: Builder, x: Value, kind: str | Xielu) -> Value:
    """An activation function by its name in `FeedForward`."""
    g = b.graph
    result: Value
    if isinstance(kind, Xielu):
        return _xielu(b, x, kind)
    if b.target.standard and kind in ("silu", "gelu_tanh"):
        silu = kind == "silu"
        result = g.op("Mul", x, g.op("Sigmoid", x)) if silu else g.op("Gelu", x, approximate="tanh")
    elif kind == "silu":  # QuickGelu is x * sigmoid(alpha x)
        result = g.op("QuickGelu", x, domain=MICROSOFT, alpha=1.0)
    elif kind == "gelu_tanh":
        result = g.op("FastGelu", x, domain=MICROSOFT)
    elif kind == "relu":
        result = g.op("Relu", x)
    else:
        assert kind == "relu_squared", kind
        positive = g.op("Relu", x)
        result = g.op("Mul", positive, positive)
    return result


def _xielu(b: Builder, x: Value, kind: Xielu) -> Value:
    """beta x + p x^2 for positive x; beta x + n (expm1(min(x, eps)) - x) for others."""
    g = b.graph
    zero = b.number("zero", 0.0)
    above = g.op("Mul", g.op("Mul", x, x), b.number("xielu_positive", kind.positive))
    # expm1 has no operator: with t = tanh(x / 2) it is 2 t / (1 - t), which does not cancel near 0
    t = g.op("Tanh", g.op("Mul", g.op("Min", x, b.number("xielu_epsilon", kind.epsilon)), b.number("half", 0.5)))
    grown = g.op("Div", g.op("Mul", t, b.number("two", 2.0)), g.op("Sub", b.number("one", 1.0), t))
    below = g.op("Mul", g.op("Sub", grown, x), b.number("xielu_negative", kind.negative))
    curve = g.op("Where", g.op("Greater", x, zero), above, below)
    result: Value = g.op("Add", curve, g.op("Mul", x, b.number("xielu_beta", kind.beta)))
    return result
