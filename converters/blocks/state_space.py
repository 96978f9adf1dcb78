"""The scan of state spaces, and what of each token their heads take: one number per head."""

from converters.blocks.context import WIDE, Build
from converters.blocks.module import Place
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.recurrent import ScanInputs
from converters.graph.states import RECURRENT
from converters.spec import StateSpace


def steps(b: Build, raw: Value, inputs: SequenceInputs) -> Value:
    """softplus of [batch, sequence, heads], 0 for padding: [batch, sequence, heads, 1], float32."""
    g = b.c.graph
    return g.op("Unsqueeze", g.op("Mul", g.op("Softplus", b.wide(raw)), real(b.c, inputs)), g.ints(3))


def scan(b: Build, x: Value, k: Value, q: Value, step: Value, module: StateSpace, place: Place) -> Value:
    """The state decays by exp(step * A) and takes k (step * x)^T; the result is q of it, and D * x: as x.

    x [batch, sequence, width], k (B) and q (C) [.., groups * dim], all float32.
    """
    c, g, heads = b.c, b.c.graph, module.heads
    by_heads = g.op("Reshape", x, g.ints(0, 0, heads, module.head_dim))
    decay = g.op("Mul", step, b.weights.vector(f"{place.prefix}.ssm_a", (heads, 1), dtype=WIDE))
    v = g.op("Reshape", g.op("Mul", by_heads, step), g.ints(0, 0, module.width))
    given = ScanInputs(
        q, k, v, g.op("Squeeze", decay, g.ints(3)), heads, module.groups, module.dim, module.head_dim
    )  # fmt: skip
    state = b.fixed_state(place.layer, RECURRENT, heads, module.dim, module.head_dim)
    y, present = c.operators.gated_scan(c, given, c.past(state))
    c.keep(state, present)
    skip = g.op("Mul", by_heads, b.weights.vector(f"{place.prefix}.ssm_d", (heads, 1), dtype=WIDE))
    return g.op("Add", y, g.op("Reshape", skip, g.ints(0, 0, module.width)))
