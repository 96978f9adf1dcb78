"""The few array operations in which every decoder is written.

A decoder runs with `NumpyOps` (tests, storage `fast`, `--dequantize`) or with a recorder that writes ONNX
nodes (storage `small`), so that each bit layout exists once.
"""

from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

A = TypeVar("A")
Array = npt.NDArray[Any]


class Ops(Protocol[A]):
    """Array operations; `A` is an array (numpy) or a graph value (ONNX). Shapes broadcast as in numpy."""

    def reshape(self, x: A, shape: tuple[int, ...]) -> A:
        """The same elements in another shape."""
        ...

    def to_uint8(self, x: A) -> A:
        """Unsigned bytes."""
        ...

    def to_float(self, x: A) -> A:
        """The real type of scales; exact."""
        ...

    def bit_or(self, x: A, y: A) -> A:
        """Bitwise or."""
        ...

    def add(self, x: A, y: A) -> A:
        """Sum."""
        ...

    def sub(self, x: A, y: A) -> A:
        """Difference."""
        ...

    def mul(self, x: A, y: A) -> A:
        """Product."""
        ...

    def times(self, x: A, factor: float) -> A:
        """Product with a constant."""
        ...

    def gather(self, table: npt.NDArray[np.uint8], index: A) -> A:
        """Row `index` of `table` [256, k]: uint8 [..., n] -> uint8 [..., n, k]."""
        ...


class NumpyOps:
    """Evaluates at once. `real` is the type in which scales and offsets are computed."""

    def __init__(self, real: npt.DTypeLike = np.float32) -> None:
        self.real = np.dtype(real)

    def reshape(self, x: Array, shape: tuple[int, ...]) -> Array:
        """Reshape without copying where numpy can."""
        return x.reshape(shape)

    def to_uint8(self, x: Array) -> Array:
        """Unsigned bytes; a 4-bit plane is one value per byte already."""
        return x.astype(np.uint8, copy=False)

    def to_float(self, x: Array) -> Array:
        """To the real type; exact for every stored scale."""
        return x.astype(self.real)

    def bit_or(self, x: Array, y: Array) -> Array:
        """Bitwise or."""
        result: Array = np.bitwise_or(x, y)
        return result

    def add(self, x: Array, y: Array) -> Array:
        """Sum."""
        result: Array = np.add(x, y)
        return result

    def sub(self, x: Array, y: Array) -> Array:
        """Difference."""
        result: Array = np.subtract(x, y)
        return result

    def mul(self, x: Array, y: Array) -> Array:
        """Product."""
        result: Array = np.multiply(x, y)
        return result

    def times(self, x: Array, factor: float) -> Array:
        """Product with a constant."""
        result: Array = np.multiply(x, x.dtype.type(factor))
        return result

    def gather(self, table: npt.NDArray[np.uint8], index: Array) -> Array:
        """Rows of a table."""
        return np.take(table, index, axis=0)
