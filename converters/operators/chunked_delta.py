"""The gated delta rule by operators of the ONNX standard: a Loop over chunks of tokens (arXiv 2412.06464, section 3.3).

Within a chunk, c = cumsum(decay), A = strict_lower(beta_i (k_i . k_j) exp(c_i - c_j)), and U solves
(I + A) U = beta (v - exp(c) k S). Then the results are lower(q_i . k_j exp(c_i - c_j)) U + exp(c) q S, and the state
behind it is exp(c_last) S + (k exp(c_last - c))^T U. No exponent is positive, so nothing overflows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import DeltaInputs
from converters.operators.chunks import Chunks, corner, cut, decays, loop, lower

CHUNK = 32  # tokens; a power of 2


@dataclass(frozen=True)
class _Masks:
    """[tokens, tokens] of 0 and 1: the lower triangle, the diagonal, the lower left quarters of blocks of 2, 4, ..."""

    lower: Value
    unit: Value
    blocks: tuple[Value, ...]


def chunked_delta(c: GraphContext, given: DeltaInputs, past: Value) -> tuple[Value, Value]:
    """See `OperatorSet.gated_delta`; of `delta_by_heads`."""
    heads, dim, value_dim = given.heads, given.dim, given.value_dim
    with c.graph.scope("chunks"):
        chunks = cut(c, given.q, CHUNK)
        masks = c.shared("delta masks", lambda: _masks(c, chunks))
        parts = [
            (given.q, heads, dim), (given.k, heads, dim), (given.v, heads, value_dim), (given.decay, heads, 1),
            (given.beta, heads, 1),
        ]  # fmt: skip
        shape = (heads, dim, value_dim)
        return loop(c, chunks, parts, past, shape, lambda part, state: _chunk(c, part, state, masks))


def _chunk(c: GraphContext, parts: Sequence[Value], state: Value, masks: _Masks) -> tuple[Value, Value]:
    """Results of the chunk and the state behind it; q, k, v, decay and beta [batch, heads, tokens, channels or 1]."""
    g, (q, k, v, decay, beta) = c.graph, parts
    stays = decays(c, decay)
    kt = g.op("Transpose", k, perm=[0, 1, 3, 2])
    system = g.op("Mul", g.op("Mul", g.op("MatMul", k, kt), stays.between), beta)
    known = g.op("Mul", stays.since, g.op("MatMul", k, state))
    u = g.op("MatMul", _inverse(c, system, masks), g.op("Mul", beta, g.op("Sub", v, known)))
    seen = g.op("Mul", g.op("Mul", g.op("MatMul", q, kt), stays.between), masks.lower)
    y = g.op("Add", g.op("MatMul", seen, u), g.op("Mul", stays.since, g.op("MatMul", q, state)))
    faded = g.op("Mul", k, stays.until)
    learned = g.op("MatMul", g.op("Transpose", faded, perm=[0, 1, 3, 2]), u)
    return y, g.op("Add", g.op("Mul", stays.whole, state), learned)


def _inverse(c: GraphContext, a: Value, masks: _Masks) -> Value:
    """(I + strict_lower(a))^-1, by blocks of 2, 4, ... that are put together from their halves.

    Neumann's series, which is as short, ends in 1e13 where keys are alike; this does not.
    """
    g = c.graph
    first, *larger = masks.blocks
    x = g.op("Sub", masks.unit, g.op("Mul", a, first))
    for mask in larger:
        x = g.op("Sub", x, g.op("MatMul", x, g.op("MatMul", g.op("Mul", a, mask), x)))
    return x


def _masks(c: GraphContext, chunks: Chunks) -> _Masks:
    places, blocks, size = np.arange(CHUNK), [], 1
    while size < CHUNK:
        whole, half = places // (2 * size), places // size
        quarters = (whole[:, None] == whole) & (half[:, None] > half)
        blocks.append(corner(c, chunks, f"halves_{size}", quarters))
        size *= 2
    unit = corner(c, chunks, "unit", np.eye(CHUNK, dtype=np.bool_))
    return _Masks(lower(c, chunks), unit, tuple(blocks))
