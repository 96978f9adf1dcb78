"""The few array operations in which every decoder is written.

A decoder runs with `NumpyOps` (tests, storage `fast`, `--dequantize`) or with a recorder that writes ONNX
nodes (storage `small`), so that each bit layout exists once.
"""

from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from repack.bits import pair_pack

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

    def plus(self, x: A, term: float) -> A:
        """Sum with a constant."""
        ...

    def bit_xor(self, x: A, y: A) -> A:
        """Bitwise exclusive or."""
        ...

    def gather(self, table: Array, index: A) -> A:
        """Rows of a table: table [n, k] (or [n]) of any type, index [...] below n -> [..., k] (or [...])."""
        ...

    def wide_index(self, low: A, high: A) -> A:
        """low + 256 * high of uint8 planes, as an index."""
        ...

    def first(self, x: A, count: int) -> A:
        """The first `count` elements along the last axis."""
        ...

    def pairs(self, x: A) -> A:
        """4-bit values two to a byte, the first in the low nibble: [..., 2 k] -> [..., k]."""
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

    def plus(self, x: Array, term: float) -> Array:
        """Sum with a constant."""
        result: Array = np.add(x, x.dtype.type(term))
        return result

    def bit_xor(self, x: Array, y: Array) -> Array:
        """Bitwise exclusive or."""
        return np.bitwise_xor(x, y)

    def gather(self, table: Array, index: Array) -> Array:
        """Rows of a table; a float table in the real type."""
        rows = np.take(table, index, axis=0)
        return rows.astype(self.real) if table.dtype.kind == "f" else rows

    def wide_index(self, low: Array, high: Array) -> Array:
        """low + 256 * high."""
        result: Array = low.astype(np.int32) + 256 * high.astype(np.int32)
        return result

    def first(self, x: Array, count: int) -> Array:
        """The first elements along the last axis."""
        return x[..., :count]

    def pairs(self, x: Array) -> Array:
        """4-bit values two to a byte."""
        return pair_pack(x)
