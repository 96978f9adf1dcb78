"""What a file has beside a stack of experts' matrices."""

from converters.blocks.context import Build
from converters.graph.graph import Value
from repack.errors import MobiusError


def extras(b: Build, stem: str, count: int, width: int) -> tuple[Value | None, Value | None]:
    """(bias [count, width], second-level scale of the product [count, 1]), None where the file has none.

    Raises:
        MobiusError: it has both, and llama.cpp's order of the two is not one that files rely on.
    """
    bias, scale = f"{stem}.bias", f"{stem}.scale"
    if bias in b.weights and scale in b.weights:
        raise MobiusError(f"{stem} has both a bias and a scale", "the order of the two is not defined")
    return (
        b.weights.vector(bias, (count, width)) if bias in b.weights else None,
        b.weights.vector(scale, (count, 1), use="multiplies the result") if scale in b.weights else None,
    )
