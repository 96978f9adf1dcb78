"""Floats: matrices and vectors that stand in the graph as numbers, and numbers that shape the graph itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.weights.matrix import band
from converters.weights.records import TensorRecord, store_as
from repack.bits import all_finite
from repack.errors import MobiusError
from repack.registry import FLOAT_TYPES

Floats = npt.NDArray[np.float32]
_ROWS = 1024  # that are looked at together
RAW_TYPES = {"float32": "<f4", "float16": "<f2", "bfloat16": "<u2"}


@dataclass(frozen=True)
class DenseMatrix:
    """A float matrix [rows, columns] in the activation type."""

    value: Value

    def product(self, c: GraphContext, x: Value) -> Value:
        """x [..., columns] @ matrix.T."""
        return c.operators.matmul_transposed(c, x, self.value)

    def gather(self, c: GraphContext, index: Value) -> Value:
        """Rows by index."""
        return c.graph.op("Gather", self.value, index, axis=0)

    def rows_of(self, c: GraphContext, index: Value, count: int, width: int) -> "DenseMatrix":
        """Bands of rows."""
        return DenseMatrix(c.graph.op("Gather", self.value, band(c, index, width), axis=0))

    def columns_of(self, c: GraphContext, index: Value, count: int, width: int) -> "DenseMatrix":
        """Bands of columns."""
        return DenseMatrix(c.graph.op("Gather", self.value, band(c, index, width), axis=1))


def emit_dense(
    c: GraphContext,
    record: TensorRecord,
    shape: tuple[int, int],
    floats: Callable[[], Floats],
    raw: Callable[[], npt.NDArray[np.uint8]],
) -> DenseMatrix:
    """A float matrix; 16-bit floats stay as stored and are widened when the session starts.

    `raw` gives the file's bytes uint8 [rows, bytes of a row], `floats` the values.
    """
    name, wanted = record.name, c.target.dtype
    stored = FLOAT_TYPES.get(record.source_type, "")
    if stored == wanted or (stored in ("float16", "bfloat16") and wanted == "float32"):
        kind = RAW_TYPES[stored]
        value = c.graph.initializer(name, stored, shape, lambda: finite(raw(), record).view(kind))
    else:
        stored = wanted
        value = c.graph.initializer(
            name, wanted, shape, lambda: store_as(floats().reshape(shape), wanted, record, "weight")
        )  # fmt: skip
    record.place(f"dense {stored}", value.nbytes)
    return DenseMatrix(value if stored == wanted else c.graph.cast(value, wanted, name=name))


def finite(raw: npt.NDArray[np.uint8], record: TensorRecord) -> npt.NDArray[np.uint8]:
    """The bytes of a float tensor, all of whose numbers are finite.

    Raises:
        MobiusError: some are not.
    """
    for start in range(0, len(raw), _ROWS):
        if not all_finite(raw[start : start + _ROWS], record.source_type):
            raise MobiusError(f"{record.name}: the file holds a weight that is not a finite number",
                              "the file is damaged: download it again")  # fmt: skip
    return raw


def emit_vector(
    c: GraphContext, record: TensorRecord, floats: Callable[[], Floats], shape: tuple[int, ...], dtype: str, use: str
) -> Value:
    """A small tensor in the given type and shape; `use` says in the record what else it is than a plain weight."""

    def compute() -> npt.NDArray[Any]:
        return store_as(floats().reshape(shape), dtype, record, "weight")

    value = c.graph.initializer(record.name, dtype, shape, compute)
    record.place(f"{use}, {dtype}" if use else f"dense {dtype}", value.nbytes)
    return value


def fold(record: TensorRecord, values: Floats, reason: str = "folded into a table") -> Floats:
    """Numbers that the graph does not hold as they are: the record keeps them, for other targets."""
    record.place(reason, 0)
    record.values = values.reshape(-1).tolist()
    return values
