"""Gated feed-forward."""

from converters.blocks.linear import linear
from converters.builder import Builder
from converters.graph import MICROSOFT, Value
from converters.spec import GatedMlp


def gated_mlp(b: Builder, x: Value, mlp: GatedMlp, prefix: str) -> Value:
    """down(activation(gate(x)) * up(x)): [..., hidden] -> [..., hidden]."""
    hidden = b.spec.hidden
    with b.graph.scope("mlp"):
        gate = linear(b, x, f"{prefix}.ffn_gate", mlp.width, hidden)
        up = linear(b, x, f"{prefix}.ffn_up", mlp.width, hidden)
        mixed = b.graph.op("Mul", activation(b, gate, mlp.activation), up)
        return linear(b, mixed, f"{prefix}.ffn_down", hidden, mlp.width)


def activation(b: Builder, x: Value, kind: str) -> Value:
    """SiLU, or GELU in its tanh approximation."""
    result: Value
    if kind == "silu":  # QuickGelu is x * sigmoid(alpha x)
        result = b.graph.op("QuickGelu", x, domain=MICROSOFT, alpha=1.0)
    else:
        assert kind == "gelu_tanh", kind
        result = b.graph.op("FastGelu", x, domain=MICROSOFT)
    return result
