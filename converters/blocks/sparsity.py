"""Activations of which few are kept: those that stand out among the channels of their token."""

from converters.blocks.context import WIDE, Build
from converters.graph.graph import Value


def above_deviations(b: Build, x: Value, deviations: float, width: int) -> Value:
    """x [..., width]: what exceeds the mean of the last axis by so many standard deviations, the rest 0.

    The deviation is the sample's, over width - 1. In float32: float16 holds no sum of so many squares.
    """
    c, g = b.c, b.c.graph
    with g.scope("sparsity"):
        wide = b.wide(x)
        centred = g.op("Sub", wide, g.op("ReduceMean", wide, g.ints(-1), keepdims=1))
        squares = g.op("ReduceSum", g.op("Mul", centred, centred), g.ints(-1), keepdims=1)
        deviation = g.op("Sqrt", g.op("Div", squares, c.number("degrees_of_freedom", width - 1, WIDE)))
        least = g.op("Mul", deviation, c.number("deviations", deviations, WIDE))
        return b.narrow(g.op("Relu", g.op("Sub", centred, least)))
