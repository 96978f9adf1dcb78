"""The state space of Mamba 2: convolution, a scan with one decay per head, a skip, a gate, and a norm by groups."""

from converters.blocks.context import Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm, norm_of_each
from converters.blocks.short_conv import short_conv
from converters.blocks.wide import WIDE, narrow, wide
from converters.graph.context import ScanInputs, SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.states import BATCH, RECURRENT
from converters.spec import Mamba2


@emits(Mamba2)
def mamba2(b: Build, x: Value, module: Mamba2, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, place.prefix
    width, channels, heads = module.width, module.channels, module.heads
    with g.scope("mamba2"):
        made = linear(b, x, f"{prefix}.ssm_in", width + channels + heads, hidden)
        gate, mixed, step = g.multi_op("Split", made, g.ints(width, channels, heads), outputs=3, axis=-1)
        mixed = short_conv(b, mixed, f"{prefix}.ssm_conv1d", channels, module.kernel, place, inputs)
        mixed = wide(b, c.operators.silu(c, mixed))
        y = narrow(b, _scan(b, mixed, _step(b, step, module, prefix, inputs), module, place))
        y = g.op("Mul", y, c.operators.silu(c, gate))
        if module.normed:
            y = _norm(b, y, module, f"{prefix}.ssm_norm")
        return linear(b, y, f"{prefix}.ssm_out", hidden, width)


def _step(b: Build, step: Value, module: Mamba2, prefix: str, inputs: SequenceInputs) -> Value:
    """softplus(step + bias), how much each head takes of each token: [batch, sequence, heads, 1], 0 for padding."""
    g = b.c.graph
    biased = g.op("Add", wide(b, step), b.weights.vector(f"{prefix}.ssm_dt.bias", (module.heads,), dtype=WIDE))
    return g.op("Unsqueeze", g.op("Mul", g.op("Softplus", biased), real(b.c, inputs, WIDE)), g.ints(3))


def _scan(b: Build, mixed: Value, step: Value, module: Mamba2, place: Place) -> Value:
    """x, B and C, side by side in `mixed`, become C of the state that B x and the decay make, and D x beside it."""
    c, g, heads, width = b.c, b.c.graph, module.heads, module.width
    keys = module.groups * module.dim
    x, k, q = g.multi_op("Split", mixed, g.ints(width, keys, keys), outputs=3, axis=-1)
    by_heads = g.op("Reshape", x, g.ints(0, 0, heads, module.head_dim))
    decay = g.op("Mul", step, b.weights.vector(f"{place.prefix}.ssm_a", (heads, 1), dtype=WIDE))
    given = ScanInputs(
        q, k, g.op("Reshape", g.op("Mul", by_heads, step), g.ints(0, 0, width)), g.op("Squeeze", decay, g.ints(3)),
        heads, module.groups, module.dim, module.head_dim,
    )  # fmt: skip
    shape = {RECURRENT: (BATCH, heads, module.dim, module.head_dim)}
    (state,) = c.add_states(place.layer, shape, in_place=c.operators.states_in_place, dtype=WIDE)
    y, present = c.operators.gated_scan(c, given, c.past(state))
    c.keep(state, present)
    skip = g.op("Mul", by_heads, b.weights.vector(f"{place.prefix}.ssm_d", (heads, 1), dtype=WIDE))
    return g.op("Add", y, g.op("Reshape", skip, g.ints(0, 0, width)))


def _norm(b: Build, y: Value, module: Mamba2, name: str) -> Value:
    """The channels of each group by themselves, with weights of their own."""
    g, groups, width = b.c.graph, module.groups, module.width
    if groups == 1:
        return norm(b, y, name, width)
    shape = (groups, width // groups)
    y = norm_of_each(b, g.op("Reshape", y, g.ints(0, 0, *shape)), name, shape, None)
    return g.op("Reshape", y, g.ints(0, 0, width))
