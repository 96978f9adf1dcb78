"""The state space of Mamba 2: convolution, scan, gate, and a norm of each group."""

from converters.blocks.context import WIDE, Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import add_norm, norm_of_each
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
        made = b.wide(linear(b, x, f"{prefix}.ssm_in", width + channels + heads, hidden))
        gate, mixed, raw = g.multi_op("Split", made, g.ints(width, channels, heads), outputs=3, axis=-1)
        step = steps(b, raw, b.weights.vector(f"{prefix}.ssm_dt.bias", (heads,), dtype=WIDE), inputs)
        name, kernel = f"{prefix}.ssm_conv1d", module.kernel
        mixed = short_conv(b, mixed, name, channels, kernel, place, inputs, dtype=WIDE, silu=True)
        x, k, q = g.multi_op("Split", mixed, g.ints(width, keys, keys), outputs=3, axis=-1)
        y, skip = scan(b, x, k, q, step, module, place)
        y = _gated(b, y, skip, c.operators.silu(c, gate), module, f"{prefix}.ssm_norm")
        return linear(b, y, f"{prefix}.ssm_out", hidden, width)


def _gated(b: Build, y: Value, skip: Value, gate: Value, module: Mamba2, name: str) -> Value:
    """(y + skip) * gate, all float32, normed if it is: in the activation type."""
    g, groups, width = b.c.graph, module.groups, module.width
    if module.normed and groups == 1:  # by the operator that adds and norms, the quickest of all norms on GPUs
        y, _ = add_norm(b, g.op("Mul", y, gate), g.op("Mul", skip, gate), name, width, WIDE)
        return b.narrow(y)
    y = b.narrow(g.op("Mul", g.op("Add", y, skip), gate))
    if not module.normed:
        return y
    shape = (groups, width // groups)  # the channels of each group by themselves, with weights of their own
    y = norm_of_each(b, g.op("Reshape", y, g.ints(0, 0, *shape)), name, shape, None)
    return g.op("Reshape", y, g.ints(0, 0, width))
