"""The scan of state spaces, and what of each token their heads take: one number per head."""

from converters.blocks.context import WIDE, Build
from converters.blocks.module import Place
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import less_for_padding
from converters.graph.recurrent import ScanInputs
from converters.graph.states import RECURRENT
from converters.spec import StateSpace


def steps(b: Build, raw: Value, bias: Value | None, inputs: SequenceInputs) -> Value:
    """softplus(raw + bias), raw [batch, sequence, heads], bias [heads] in float32; 0 for padding: float32."""
    g = b.c.graph
    raw = g.op("Add", b.wide(raw), less_for_padding(b.c, inputs))
    return g.op("Softplus", raw) if bias is None else b.c.operators.softplus(b.c, raw, bias)


def scan(
    b: Build, x: Value, k: Value, q: Value, step: Value, module: StateSpace, place: Place, scale: float = 1.0
) -> Value:
    """The state decays by exp(step * A) and takes k (step * x)^T; the result is q of it, and D * x: as x.

    x [batch, sequence, width], k (B) and q (C) [.., groups * dim], all float32. `scale`, that of the result, is a power
    of 2: it rounds nothing.
    """
    c, g, heads = b.c, b.c.graph, module.heads
    by_heads = g.op("Reshape", x, g.ints(0, 0, heads, module.head_dim))
    decay = g.op("Mul", step, b.weights.vector(f"{place.prefix}.ssm_a", (heads,), dtype=WIDE))
    v = g.op("Mul", by_heads, g.op("Unsqueeze", step, g.ints(3)))
    v = g.op("Reshape", v, g.ints(0, 0, module.width))
    given = ScanInputs(q, k, v, decay, heads, module.groups, module.dim, module.head_dim, scale)
    sizes = c.operators.gated_shape(c.target, heads, module.dim, module.head_dim)
    state = b.fixed_state(place.layer, RECURRENT, *sizes)
    y, present = c.operators.gated_scan(c, given, c.past(state))
    c.keep(state, present)
    share = b.weights.vector(f"{place.prefix}.ssm_d", (heads, 1), dtype=WIDE)
    if scale != 1:
        share = g.op("Mul", share, c.number("scale", scale, WIDE))
    skip = g.op("Mul", by_heads, share)
    return g.op("Add", y, g.op("Reshape", skip, g.ints(0, 0, module.width)))
