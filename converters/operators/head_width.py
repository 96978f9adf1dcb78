"""Heads with zeros behind their channels, which change no product, for operators and caches that want them wider."""

from converters.graph.context import GraphContext
from converters.graph.graph import Value


def widen(c: GraphContext, x: Value, heads: int, dim: int, wanted: int) -> Value:
    """[batch, sequence, heads * dim] -> [batch, sequence, heads, wanted], zeros behind."""
    g = c.graph
    x = g.op("Reshape", x, g.ints(0, 0, heads, dim))
    return x if wanted == dim else g.op("Pad", x, g.ints(0, 0, 0, 0, 0, 0, 0, wanted - dim))


def flat(c: GraphContext, x: Value, width: int) -> Value:
    """[batch, sequence, heads, channels] -> [batch, sequence, width]."""
    return c.graph.op("Reshape", x, c.graph.ints(0, 0, width))


def cut(c: GraphContext, y: Value, heads: int, dim: int, wanted: int) -> Value:
    """The first `wanted` channels of heads of `dim`: [batch, sequence, heads * wanted]."""
    g = c.graph
    split = g.op("Reshape", y, g.ints(0, 0, heads, dim))
    return flat(c, g.op("Slice", split, g.ints(0), g.ints(wanted), g.ints(3)), heads * wanted)
