"""The gated delta rule by operators of the ONNX standard: a Loop over chunks of tokens (arXiv 2412.06464, section 3.3).

Within a chunk, c = cumsum(decay), A = strict_lower(beta_i (k_i . k_j) exp(c_i - c_j)), and U solves
(I + A) U = beta (v - exp(c) k S). Then the results are lower(q_i . k_j exp(c_i - c_j)) U + exp(c) q S, and the state
behind it is exp(c_last) S + (k exp(c_last - c))^T U. No exponent is positive, so nothing overflows.
"""

from dataclasses import dataclass

import numpy as np

from converters.graph.context import DeltaInputs, GraphContext
from converters.graph.graph import Value

CHUNK = 32  # tokens; a power of 2


@dataclass(frozen=True)
class _Parts:
    """Of a step or of a chunk of it: q, k and v [batch, heads, tokens, channels], decay and beta [.., tokens, 1]."""

    q: Value
    k: Value
    v: Value
    decay: Value
    beta: Value


@dataclass(frozen=True)
class _Masks:
    """[tokens, tokens] of 0 and 1: the lower triangle, the diagonal, the lower left quarters of blocks of 2, 4, ..."""

    lower: Value
    unit: Value
    blocks: tuple[Value, ...]


def chunked_delta(c: GraphContext, given: DeltaInputs, past: Value) -> tuple[Value, Value]:
    """See `OperatorSet.gated_delta`."""
    g = c.graph
    with g.scope("chunks"):
        length, chunk, count = _lengths(c, given.q)
        parts, masks = _padded(c, given, length, chunk, count), c.shared("chunk masks", lambda: _masks(c, chunk))
        state_shape = ("batch_size", given.heads, given.dim, given.value_dim)
        inputs = [("number", "int64", ()), ("go_on", "bool", ()), ("state", "float32", state_shape)]
        with g.body("body", inputs) as body:
            number, go_on, state = body.inputs
            first = g.op("Mul", g.op("Unsqueeze", number, g.ints(0)), chunk)
            y, present = _chunk(c, _slice(c, parts, first, g.op("Add", first, chunk)), state, masks)
            body.outputs += [g.op("Identity", go_on), present, g.op("Unsqueeze", y, g.ints(0))]
        go_on_always = g.constant("true", np.array(True))  # onnx's reference evaluator runs no body without it
        present, ys = g.multi_op("Loop", g.op("Squeeze", count, g.ints(0)), go_on_always, past, outputs=2, body=body)
        # [chunks, 1, batch, heads, tokens, channels] -> [batch, sequence, heads * channels], without what was padded.
        # Runtimes stack results of a body; onnx's reference evaluator joins them: hence the 1, and a shape for both.
        stacked = g.op("Concat", count, g.ints(-1, given.heads), chunk, g.ints(given.value_dim), axis=0)
        rows = g.op("Transpose", g.op("Reshape", ys, stacked), perm=[1, 0, 3, 2, 4])
        flat = g.op("Reshape", rows, g.ints(0, -1, given.heads * given.value_dim))
        return g.op("Slice", flat, g.ints(0), length, g.ints(1)), present


def _lengths(c: GraphContext, q: Value) -> tuple[Value, Value, Value]:
    """Tokens of the step, of a chunk, and chunks: int64 [1] each; a short step is one short chunk."""
    g = c.graph

    def make() -> tuple[Value, Value, Value]:
        length = g.op("Slice", g.op("Shape", q), g.ints(1), g.ints(2))
        chunk = g.op("Min", length, g.ints(CHUNK))
        one = g.ints(1)
        count = g.op("Div", g.op("Sub", g.op("Add", length, chunk), one), chunk)
        return length, chunk, count

    return c.shared("chunks", make)


def _padded(c: GraphContext, given: DeltaInputs, length: Value, chunk: Value, count: Value) -> _Parts:
    """Heads before tokens, and as many tokens as chunks hold; those added have decay and beta 0 and change nothing."""
    g = c.graph
    more = g.op("Sub", g.op("Mul", count, chunk), length)
    pads = g.op("Concat", g.ints(0, 0, 0, 0, 0, 0), more, g.ints(0), axis=0)

    def split(x: Value, channels: int) -> Value:
        heads = g.op("Transpose", g.op("Reshape", x, g.ints(0, 0, given.heads, channels)), perm=[0, 2, 1, 3])
        return g.op("Pad", heads, pads)

    return _Parts(
        split(given.q, given.dim), split(given.k, given.dim), split(given.v, given.value_dim), split(given.decay, 1),
        split(given.beta, 1),
    )  # fmt: skip


def _slice(c: GraphContext, parts: _Parts, first: Value, end: Value) -> _Parts:
    g = c.graph
    every = (parts.q, parts.k, parts.v, parts.decay, parts.beta)
    return _Parts(*(g.op("Slice", part, first, end, g.ints(2)) for part in every))


def _chunk(c: GraphContext, x: _Parts, state: Value, masks: _Masks) -> tuple[Value, Value]:
    """Results of the chunk and the state behind it."""
    g = c.graph
    total = g.op("CumSum", x.decay, c.integer("token_axis", 2))  # [batch, heads, tokens, 1]
    apart = g.op("Sub", total, g.op("Transpose", total, perm=[0, 1, 3, 2]))
    keep = g.op("Exp", g.op("Min", apart, c.number("zero", 0.0, "float32")))
    kt = g.op("Transpose", x.k, perm=[0, 1, 3, 2])
    system = g.op("Mul", g.op("Mul", g.op("MatMul", x.k, kt), keep), x.beta)
    grown = g.op("Exp", total)
    known = g.op("Mul", grown, g.op("MatMul", x.k, state))
    u = g.op("MatMul", _inverse(c, system, masks), g.op("Mul", x.beta, g.op("Sub", x.v, known)))
    seen = g.op("Mul", g.op("Mul", g.op("MatMul", x.q, kt), keep), masks.lower)
    y = g.op("Add", g.op("MatMul", seen, u), g.op("Mul", grown, g.op("MatMul", x.q, state)))
    last = g.op("Slice", total, g.ints(-1), g.ints(2**31 - 1), g.ints(2))
    faded = g.op("Mul", x.k, g.op("Exp", g.op("Sub", last, total)))
    learned = g.op("MatMul", g.op("Transpose", faded, perm=[0, 1, 3, 2]), u)
    return y, g.op("Add", g.op("Mul", g.op("Exp", last), state), learned)


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


def _masks(c: GraphContext, chunk: Value) -> _Masks:
    """The upper left corners of constants, as large as a chunk."""
    g, places = c.graph, np.arange(CHUNK)
    corner = g.op("Concat", chunk, chunk, axis=0)

    def cut(name: str, values: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Value:
        whole = g.constant(f"chunk.{name}", values.astype(np.float32))
        return g.op("Slice", whole, g.ints(0, 0), corner, g.ints(0, 1))

    blocks, size = [], 1
    while size < CHUNK:
        whole, half = places // (2 * size), places // size
        blocks.append(cut(f"halves_{size}", (whole[:, None] == whole) & (half[:, None] > half)))
        size *= 2
    return _Masks(cut("lower", places[:, None] >= places), cut("unit", places[:, None] == places), tuple(blocks))
