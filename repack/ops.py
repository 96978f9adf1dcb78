"""The few array operations in which every decoder is written.

A decoder runs with `NumpyOps` (tests, storage `fast`, `--dequantize`) or with a recorder that writes ONNX
nodes (storage `small`), so that each bit layout exists once.
"""

from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

A = TypeVar("A")


class Ops(Protocol[A]):
    """Array operations; `A` is an array (numpy) or a graph value (ONNX). Shapes broadcast as in numpy."""

    def reshape(self, x: A, shape: tuple[int, ...]) -> A: ...
    def to_uint8(self, x: A) -> A: ...
    def to_float(self, x: A) -> A: ...
    def bit_or(self, x: A, y: A) -> A: ...
    def add(self, x: A, y: A) -> A: ...
    def sub(self, x: A, y: A) -> A: ...
    def mul(self, x: A, y: A) -> A: ...
    def times(self, x: A, factor: float) -> A: ...
    def gather(self, table: npt.NDArray[np.uint8], index: A) -> A:
        """Row `index` of `table` [256, k]: uint8 [..., n] -> uint8 [..., n, k]."""
        ...


class NumpyOps:
    """Evaluates at once. `real` is the type in which scales and offsets are computed."""

    def __init__(self, real: npt.DTypeLike = np.float32) -> None:
        self.real = np.dtype(real)

    def reshape(self, x: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Reshape without copying where numpy can."""
        return x.reshape(shape)

    def to_uint8(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Unsigned bytes; a 4-bit plane is one value per byte already."""
        return x.astype(np.uint8, copy=False)

    def to_float(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """To the real type; exact for every stored scale."""
        return x.astype(self.real)

    def bit_or(self, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Bitwise or."""
        return np.bitwise_or(x, y)

    def add(self, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sum."""
        return np.add(x, y)

    def sub(self, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Difference."""
        return np.subtract(x, y)

    def mul(self, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Product."""
        return np.multiply(x, y)

    def times(self, x: npt.NDArray[Any], factor: float) -> npt.NDArray[Any]:
        """Product with a constant."""
        return np.multiply(x, x.dtype.type(factor))

    def gather(self, table: npt.NDArray[np.uint8], index: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Rows of a table."""
        return np.take(table, index, axis=0)
