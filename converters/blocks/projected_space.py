"""A state space whose B, C and steps are products of what its convolution gives, each normed."""

from converters.blocks.context import Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.blocks.short_conv import short_conv
from converters.blocks.state_space import scan, steps
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import ProjectedSpace


@emits(ProjectedSpace)
def projected_space(b: Build, x: Value, module: ProjectedSpace, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, place.prefix
    width, dim, rank, each = module.width, module.dim, module.step_rank, module.head_dim
    with g.scope("space"):
        both = linear(b, x, f"{prefix}.ssm_in", 2 * width, hidden)
        by_heads = g.op("Reshape", both, g.ints(0, 0, module.heads, 2 * each))
        halves = g.multi_op("Split", by_heads, g.ints(each, each), outputs=2, axis=-1)
        gate, x = (g.op("Reshape", half, g.ints(0, 0, width)) for half in halves)
        mixed = short_conv(b, x, f"{prefix}.ssm_conv1d", width, module.kernel, place, inputs, silu=True)
        x = b.from_mixing(mixed)
        made = linear(b, x, f"{prefix}.ssm_x", 2 * dim + rank, width)
        k, q, raw = g.multi_op("Split", made, g.ints(dim, dim, rank), outputs=3, axis=-1)
        k, q = b.wide(norm(b, k, f"{prefix}.ssm_b_norm", dim)), b.wide(norm(b, q, f"{prefix}.ssm_c_norm", dim))
        raw = linear(b, norm(b, raw, f"{prefix}.ssm_dt_norm", rank), f"{prefix}.ssm_dt", module.heads, rank)
        y = b.narrow(scan(b, b.mixing_to_wide(mixed), k, q, steps(b, raw, None, inputs), module, place))
        return linear(b, g.op("Mul", y, c.operators.silu(c, gate)), f"{prefix}.ssm_out", hidden, width)
