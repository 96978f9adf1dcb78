"""Float32 inside of a graph of other activations: recurrent states, what decays them, and their sums."""

from converters.blocks.context import Build
from converters.graph.graph import Value

WIDE = "float32"


def wide(b: Build, x: Value) -> Value:
    """From the activation type."""
    return x if b.c.target.dtype == WIDE else b.c.graph.cast(x, WIDE)


def narrow(b: Build, x: Value) -> Value:
    """To the activation type."""
    return x if b.c.target.dtype == WIDE else b.c.graph.cast(x, b.c.target.dtype)
