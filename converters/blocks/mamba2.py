"""The state space of Mamba 2: convolution, scan, gate, and a norm of each group."""

from converters.blocks.context import WIDE, Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm, norm_of_each, norm_of_halves
from converters.blocks.short_conv import short_conv
from converters.blocks.state_space import scan, steps
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import Mamba2


@emits(Mamba2)
def mamba2(b: Build, x: Value, module: Mamba2, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, place.prefix
    width, channels, heads, keys = module.width, module.channels, module.heads, module.groups * module.dim
    with g.scope("space"):
        made = linear(b, x, f"{prefix}.ssm_in", width + channels + heads, hidden)
        gate, mixed, raw = g.multi_op("Split", made, g.ints(width, channels, heads), outputs=3, axis=-1)
        step = steps(b, raw, b.weights.vector(f"{prefix}.ssm_dt.bias", (heads,), dtype=WIDE), inputs)
        mixed = short_conv(b, mixed, f"{prefix}.ssm_conv1d", channels, module.kernel, place, inputs, silu=True)
        x, k, q = g.multi_op("Split", b.mixing_to_wide(mixed), g.ints(width, keys, keys), outputs=3, axis=-1)
        halves = c.target.recurrent_kernels and module.normed and module.groups == 1
        y = b.narrow(scan(b, x, k, q, step, module, place, scale=0.5 if halves else 1.0))
        y = g.op("Mul", y, c.operators.silu(c, gate))
        if halves:
            y = norm_of_halves(b, y, f"{prefix}.ssm_norm", width)
        elif module.normed:
            y = _norm(b, y, module, f"{prefix}.ssm_norm")
        return linear(b, y, f"{prefix}.ssm_out", hidden, width)


def _norm(b: Build, y: Value, module: Mamba2, name: str) -> Value:
    """The channels of each group by themselves, with weights of their own."""
    g, groups, width = b.c.graph, module.groups, module.width
    if groups == 1:
        return norm(b, y, name, width)
    shape = (groups, width // groups)
    y = norm_of_each(b, g.op("Reshape", y, g.ints(0, 0, *shape)), name, shape, None)
    return g.op("Reshape", y, g.ints(0, 0, width))
