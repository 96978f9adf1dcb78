"""A gated scan by operators of the ONNX standard: a Loop over chunks of tokens (arXiv 2405.21060, section 6).

Within a chunk, c = cumsum(decay); the results are lower(q_i . k_j exp(c_i - c_j)) v + exp(c) q S, and the state behind
it is exp(c_last) S + k^T (v exp(c_last - c)). No exponent is positive, so nothing overflows.
"""

from collections.abc import Sequence

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import ScanInputs
from converters.operators.chunks import cut, decays, loop, lower

CHUNK = 64  # tokens


def chunked_scan(c: GraphContext, given: ScanInputs, past: Value) -> tuple[Value, Value]:
    """See `OperatorSet.gated_scan`."""
    heads, groups, dim, value_dim = given.heads, given.groups, given.dim, given.value_dim
    with c.graph.scope("chunks"):
        chunks = cut(c, given.q, CHUNK)
        mask = lower(c, chunks)
        q = given.q
        if given.scale != 1:
            q = c.graph.op("Mul", q, c.number("scale", given.scale, "float32"))
        parts = [(q, groups, dim), (given.k, groups, dim), (given.v, heads, value_dim), (given.decay, heads, 1)]
        shape = (heads, dim, value_dim)
        return loop(c, chunks, parts, past, shape, lambda part, state: _chunk(c, given, part, state, mask))


def _chunk(
    c: GraphContext, given: ScanInputs, parts: Sequence[Value], state: Value, mask: Value
) -> tuple[Value, Value]:
    """Results of the chunk and the state behind it.

    q and k are [batch, groups, tokens, dim], v and decay [batch, heads, tokens, value_dim or 1]. Here groups stand
    beside texts, and heads of a group in their place, so that these share one product of q and k.
    """
    g, each, groups = c.graph, given.heads // given.groups, given.groups

    def grouped(x: Value, *shape: int) -> Value:
        return x if groups == 1 else g.op("Reshape", x, g.ints(-1, *shape))

    q, k, v, decay = parts
    q, k = grouped(q, 1, 0, given.dim), grouped(k, 1, 0, given.dim)
    v, decay = grouped(v, each, 0, given.value_dim), grouped(decay, each, 0, 1)
    state, stays = grouped(state, each, given.dim, given.value_dim), decays(c, decay)
    kt = g.op("Transpose", k, perm=[0, 1, 3, 2])
    seen = g.op("Mul", stays.between, g.op("Mul", g.op("MatMul", q, kt), mask))
    y = g.op("Add", g.op("MatMul", seen, v), g.op("Mul", stays.since, g.op("MatMul", q, state)))
    learned = g.op("MatMul", kt, g.op("Mul", v, stays.until))
    state = g.op("Add", g.op("Mul", stays.whole, state), learned)
    if groups > 1:
        y = g.op("Reshape", y, g.ints(-1, given.heads, 0, given.value_dim))
        state = g.op("Reshape", state, g.ints(-1, given.heads, given.dim, given.value_dim))
    return y, state
