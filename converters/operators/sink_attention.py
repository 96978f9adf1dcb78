"""Attention with a sink for each head, by products and a softmax: ONNX's own Attention has no place for one."""

from converters.graph.context import GraphContext, Heads
from converters.graph.graph import Value


def sink_attention(
    c: GraphContext, q: Value, k: Value, v: Value, mask: Value, past: tuple[Value, Value], heads: Heads
) -> tuple[Value, Value, Value]:
    """(result [batch, sequence, count * value_dim], keys and values with those of the step).

    q, k, v [batch, sequence, heads * channels]; mask [batch, 1, sequence, total] is added to the scores; past: keys and
    values [batch, kv_count, past, channels]. The sink is a further column of the scores, which has no value.
    """
    g, shared = c.graph, heads.count // heads.kv_count
    keys = g.op("Concat", past[0], _by_head(c, k, heads.kv_count, heads.dim), axis=2)
    values = g.op("Concat", past[1], _by_head(c, v, heads.kv_count, heads.value_dim), axis=2)
    q = g.op("Mul", q, c.number("attention_scale", heads.scale))
    q = g.op("Transpose", g.op("Reshape", q, g.ints(0, 0, heads.kv_count, shared, heads.dim)), perm=[0, 2, 3, 1, 4])
    q = g.op("Reshape", q, g.ints(0, heads.kv_count, -1, heads.dim))  # queries that share a key, below one another
    scores = g.op("MatMul", q, g.op("Transpose", keys, perm=[0, 1, 3, 2]))
    scores = g.op("Add", g.op("Reshape", scores, g.ints(0, heads.count, -1, 0)), mask)
    shares = sink_softmax(c, scores, g.op("Reshape", heads.sink, g.ints(1, heads.count, 1, 1)))
    y = g.op("MatMul", g.op("Reshape", shares, g.ints(0, heads.kv_count, -1, 0)), values)
    y = g.op("Reshape", y, g.ints(0, heads.kv_count, shared, -1, heads.value_dim))
    y = g.op("Transpose", y, perm=[0, 3, 1, 2, 4])
    return g.op("Reshape", y, g.ints(0, 0, heads.count * heads.value_dim)), keys, values


def _by_head(c: GraphContext, x: Value, heads: int, dim: int) -> Value:
    """[batch, sequence, heads * dim] -> [batch, heads, sequence, dim]."""
    g = c.graph
    return g.op("Transpose", g.op("Reshape", x, g.ints(0, 0, heads, dim)), perm=[0, 2, 1, 3])


def sink_softmax(c: GraphContext, scores: Value, sink: Value) -> Value:
    """The keys' shares of scores [..., keys], of which the sinks [..., 1] take theirs; these need not have its axes."""
    g = c.graph
    rows = g.op("Concat", g.op("Shape", scores, start=0, end=-1), g.ints(1), axis=0)
    shares = g.op("Softmax", g.op("Concat", scores, g.op("Expand", sink, rows), axis=-1), axis=-1)
    return g.op("Slice", shares, g.ints(0), g.ints(-1), g.ints(-1))
