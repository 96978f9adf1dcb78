"""Feed-forward modules, gated or not."""

from converters.blocks.activation import above_deviations, gated
from converters.blocks.context import Build
from converters.blocks.linear import linear, saves_correction, stackable, stacked_linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import Mlp


@emits(Mlp)
def mlp(b: Build, x: Value, module: Mlp, place: Place, _: SequenceInputs) -> Value:
    """[..., hidden] -> [..., hidden]."""
    return feed_forward(b, x, module, place.prefix)


def feed_forward(b: Build, x: Value, module: Mlp, prefix: str, suffix: str = "") -> Value:
    """[..., hidden] -> [..., hidden], by the tensors `prefix`.ffn_up`suffix` and so on."""
    g, hidden = b.c.graph, b.spec.hidden
    with g.scope("mlp"):
        if module.gate == "none":
            gate, up = None, linear(b, x, f"{prefix}.ffn_up{suffix}", module.width, hidden)
        else:
            gate, up = _gate_and_up(b, x, module, prefix, suffix)
            if module.sparsity is not None:
                gate = above_deviations(b, gate, module.sparsity, module.width)
        y = gated(b.c, gate, up, module.activation)
        if module.sub_norm:
            y = norm(b, y, f"{prefix}.ffn_sub_norm", module.width)
        if module.divisors:
            y = g.op("Div", y, b.weights.vector(f"{prefix}.ffn.act.scales", (module.width,)))
        return linear(b, y, f"{prefix}.ffn_down{suffix}", hidden, module.width)


def _gate_and_up(b: Build, x: Value, module: Mlp, prefix: str, suffix: str) -> tuple[Value, Value]:
    """Both products of x; as one where the file has them so, or where that saves a correction, worth a Split."""
    names, hidden, width = tuple(f"{prefix}.ffn_{part}{suffix}" for part in ("gate", "up")), b.spec.hidden, module.width
    if module.gate == "fused":
        both = linear(b, x, names[1], 2 * width, hidden)
    elif b.c.target.stack_gate_up and saves_correction(b, names[0]) and stackable(b, names):
        both = stacked_linear(b, x, f"{prefix}.ffn_gate_up{suffix}", [(name, width, None) for name in names], hidden)
    else:
        return linear(b, x, names[0], width, hidden), linear(b, x, names[1], width, hidden)
    gate, up = b.c.graph.multi_op("Split", both, b.c.graph.ints(width, width), outputs=2, axis=-1)
    return gate, up
