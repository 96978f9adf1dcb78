"""The state space of Mamba: convolution, what each token selects, scan and gate."""

from converters.blocks.context import WIDE, Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm_or_plain
from converters.blocks.short_conv import short_conv
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.recurrent import SelectiveInputs
from converters.graph.states import RECURRENT
from converters.spec import Mamba


@emits(Mamba)
def mamba(b: Build, x: Value, module: Mamba, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, inner, prefix = b.c, b.c.graph, b.spec.hidden, module.inner, place.prefix
    with g.scope("space"):
        both = linear(b, x, f"{prefix}.ssm_in", 2 * inner, hidden)
        x, gate = g.multi_op("Split", both, g.ints(inner, inner), outputs=2, axis=-1)
        x = short_conv(b, x, f"{prefix}.ssm_conv1d", inner, module.kernel, place, inputs, silu=True)
        x = b.from_mixing(x)
        y = g.op("Mul", b.narrow(_scan(b, x, module, place, inputs)), c.operators.silu(c, gate))
        return linear(b, y, f"{prefix}.ssm_out", hidden, inner)


def _scan(b: Build, x: Value, module: Mamba, place: Place, inputs: SequenceInputs) -> Value:
    """The scan's result and D * x: as x, float32."""
    c, g, prefix, shape = b.c, b.c.graph, place.prefix, (module.inner, module.size)
    step, k, q = _selected(b, x, module, prefix)
    step = g.op("Mul", g.op("Softplus", step), real(c, inputs))
    x = b.wide(x)
    rate = b.weights.vector(f"{prefix}.ssm_a", shape, dtype=WIDE)
    given = SelectiveInputs(x, step, k, q, rate, *shape)
    sizes = c.operators.selective_shape(c.target, *shape)
    state = b.fixed_state(place.layer, RECURRENT, *sizes)
    y, present = c.operators.selective_scan(c, given, c.past(state))
    c.keep(state, present)
    return g.op("Add", y, g.op("Mul", x, b.weights.vector(f"{prefix}.ssm_d", (module.inner,), dtype=WIDE)))


def _selected(b: Build, x: Value, module: Mamba, prefix: str) -> tuple[Value, Value, Value]:
    """Steps before softplus, B and C: float32."""
    g, size, rank = b.c.graph, module.size, module.rank
    made = linear(b, x, f"{prefix}.ssm_x", rank + 2 * size, module.inner)
    parts = g.multi_op("Split", made, g.ints(rank, size, size), outputs=3, axis=-1)
    if module.normed:
        names = (("dt", rank), ("b", size), ("c", size))
        parts = tuple(
            norm_or_plain(b, part, f"{prefix}.ssm_{name}_norm", width)
            for part, (name, width) in zip(parts, names, strict=True)
        )
    low, k, q = parts
    raw = b.weights.matrix(f"{prefix}.ssm_dt.weight", (module.inner, rank)).product(b.c, low)
    bias = b.weights.vector(f"{prefix}.ssm_dt.bias", (module.inner,), dtype=WIDE)
    return g.op("Add", b.wide(raw), bias), b.wide(k), b.wide(q)
