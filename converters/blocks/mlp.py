"""Gated feed-forward."""

from converters.blocks.linear import linear, stackable, stacked_linear
from converters.builder import Builder
from converters.graph import MICROSOFT, Value
from converters.spec import GatedMlp


def gated_mlp(b: Builder, x: Value, mlp: GatedMlp, prefix: str) -> Value:
    """down(activation(gate(x)) * up(x)): [..., hidden] -> [..., hidden]."""
    hidden = b.spec.hidden
    with b.graph.scope("mlp"):
        gate, up = _gate_and_up(b, x, mlp.width, prefix)
        mixed = b.graph.op("Mul", activation(b, gate, mlp.activation), up)
        return linear(b, mixed, f"{prefix}.ffn_down", hidden, mlp.width)


def _gate_and_up(b: Builder, x: Value, width: int, prefix: str) -> tuple[Value, Value]:
    """Both products of x; as one where that saves a correction, which is worth a Split."""
    names, hidden = (f"{prefix}.ffn_gate", f"{prefix}.ffn_up"), b.spec.hidden
    kind = b.weights.kept(f"{names[0]}.weight")
    if not (kind and kind.offset and b.target.stack_gate_up and stackable(b, names)):
        return linear(b, x, names[0], width, hidden), linear(b, x, names[1], width, hidden)
    both = stacked_linear(b, x, f"{prefix}.ffn_gate_up", [(name, width, None) for name in names], hidden)
    gate, up = b.graph.op("Split", both, b.graph.ints(width, width), outputs=2, axis=-1)
    return gate, up


def activation(b: Builder, x: Value, kind: str) -> Value:
    """SiLU, or GELU in its tanh approximation."""
    result: Value
    if kind == "silu":  # QuickGelu is x * sigmoid(alpha x)
        result = b.graph.op("QuickGelu", x, domain=MICROSOFT, alpha=1.0)
    else:
        assert kind == "gelu_tanh", kind
        result = b.graph.op("FastGelu", x, domain=MICROSOFT)
    return result
