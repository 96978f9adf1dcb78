"""Attention with sinks for a few tokens at once, where GroupQueryAttention is wrong about them.

CUDA's kernel cuts the keys into parts where a step has too few blocks of queries to fill the GPU, and each part counts
the sink again. It does not with one token, nor where there are blocks enough. Between the two, the rows go through
plain products over the keys and values that the operator has stored; else these are of no rows, which cost next to
nothing. Rows are counted by shapes alone and there is no control flow, so a captured CUDA graph holds it.
"""

import numpy as np

from converters.graph.context import GraphContext, Heads, OperatorRope, SequenceInputs
from converters.graph.graph import Value
from converters.graph.positions import positions, sequence_length, total_length
from converters.operators.sink_attention import sink_softmax

BLOCK = 64  # queries of a head that the kernel takes together
ENOUGH = 256  # such blocks fill any GPU: the kernel cuts keys below 0.8 of its multiprocessors, of which there are 132
BLOCKED = -1e4  # added to the score of a key that must not be seen; float16 holds it
LAST = 2**31 - 1  # the end of an axis


def right_short_runs(
    c: GraphContext, y: Value, q: Value, present: tuple[Value, Value], heads: Heads, dim: int, inputs: SequenceInputs
) -> Value:
    """The operator's result y [batch, sequence, count * dim], where it is wrong replaced.

    q: what it was given, with more channels behind the queries' or without; not turned where it turns itself. present:
    keys and values [batch, kv_count, buffer, dim] with those of the step.
    """
    assert not heads.softcap and heads.norms is None and heads.sink is not None
    g = c.graph
    with g.scope("short_run"):
        rows = _rows(c, heads, inputs)
        few = g.op("Slice", q, g.ints(0), rows, g.ints(1))
        few = g.op("Slice", few, g.ints(0), g.ints(heads.count * dim), g.ints(2))
        end = c.shared(("run keys", rows), lambda: _keys(c, rows, inputs))
        keys, values = (g.op("Unsqueeze", _first(c, part, end), g.ints(2)) for part in present)
        shared = heads.count // heads.kv_count
        few = g.op("Mul", few, c.number("attention_scale", heads.scale))
        few = g.op("Reshape", few, g.ints(0, 0, heads.kv_count, shared, dim))
        few = g.op("Transpose", few, perm=[0, 2, 3, 1, 4])  # [batch, kv_count, shared, rows, dim]
        if heads.rope is not None:
            few = _turned(c, few, heads.rope, rows, dim, inputs)
        scores = g.op("MatMul", few, g.op("Transpose", keys, perm=[0, 1, 2, 4, 3]))
        mask = c.shared(("run mask", rows, heads.window), lambda: _mask(c, rows, keys, heads.window, inputs))
        sink = g.op("Reshape", heads.sink, g.ints(1, heads.kv_count, shared, 1, 1))
        made = g.op("MatMul", sink_softmax(c, g.op("Add", scores, mask), sink), values)
        made = g.op("Reshape", g.op("Transpose", made, perm=[0, 3, 1, 2, 4]), g.ints(0, 0, heads.count * dim))
        return g.op("Concat", made, g.op("Slice", y, rows, g.ints(LAST), g.ints(1)), axis=1)


def _rows(c: GraphContext, heads: Heads, inputs: SequenceInputs) -> Value:
    """The step's tokens, 0 where there is one or where there are enough: int64 [1]."""
    g, enough = c.graph, BLOCK * ENOUGH // heads.count

    def make() -> Value:
        length = sequence_length(c, inputs)
        several = g.op("Min", g.op("Sub", length, g.ints(1)), g.ints(1))
        short = g.op("Min", g.op("Div", g.ints(enough - 1), length), g.ints(1))
        return g.op("Mul", length, g.op("Mul", several, short))

    return c.shared(("run", enough), make)


def _keys(c: GraphContext, rows: Value, inputs: SequenceInputs) -> Value:
    """How many keys to look at, none for no rows: int64 [1]."""
    g = c.graph
    return g.op("Mul", total_length(c, inputs), g.op("Min", rows, g.ints(1)))


def _first(c: GraphContext, part: Value, end: Value) -> Value:
    return c.graph.op("Slice", part, c.graph.ints(0), end, c.graph.ints(2))


def _turned(c: GraphContext, x: Value, rope: OperatorRope, rows: Value, dim: int, inputs: SequenceInputs) -> Value:
    """Rotary embedding of x [batch, kv_count, shared, rows, dim], by operators that take no rows."""
    g, half, tables = c.graph, rope.dim // 2, rope.tables()

    def own(table: Value) -> Value:  # [batch, 1, 1, rows, half]
        every = g.op("Gather", table, positions(c, inputs), axis=0)
        return g.op("Unsqueeze", g.op("Slice", every, g.ints(0), rows, g.ints(1)), g.ints(1, 2))

    cos, sin = c.shared(("run turns", *tables, rows), lambda: tuple(own(table) for table in tables))
    first, second = (g.op("Slice", x, g.ints(n * half), g.ints((n + 1) * half), g.ints(4)) for n in (0, 1))
    parts = [
        g.op("Sub", g.op("Mul", first, cos), g.op("Mul", second, sin)),
        g.op("Add", g.op("Mul", second, cos), g.op("Mul", first, sin)),
    ]
    if rope.dim < dim:
        parts.append(g.op("Slice", x, g.ints(rope.dim), g.ints(dim), g.ints(4)))
    return g.op("Concat", *parts, axis=4)


def _mask(c: GraphContext, rows: Value, keys: Value, window: int | None, inputs: SequenceInputs) -> Value:
    """What is added to the scores: float [batch, 1, 1, rows, keys]. A key stands in the cache at its position."""
    g = c.graph
    where = g.op("Slice", positions(c, inputs), g.ints(0), rows, g.ints(1))
    every = g.constant("key_numbers", np.arange(c.context_length, dtype=np.int64))
    columns = g.op("Slice", every, g.ints(0), g.op("Shape", keys, start=3, end=4), g.ints(0))
    back = g.op("Sub", g.op("Unsqueeze", where, g.ints(1, 2, 4)), columns)
    seen = g.op("GreaterOrEqual", back, c.integer("position_first", 0))
    if window is not None:
        seen = g.op("And", seen, g.op("Less", back, c.integer(f"window_{window}", window)))
    return g.op("Where", seen, c.number("zero", 0.0), c.number("blocked", BLOCKED))
