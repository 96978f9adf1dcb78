"""Matrices whose columns stand in an order of their own, so that those of one scale stand together."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.weights.matrix import Matrix
from converters.weights.records import TensorRecord
from repack.errors import MobiusError

_MARK = ", columns "  # in a record's form, before the name of their order


@dataclass(frozen=True)
class OrderedMatrix:
    """`matrix` with its columns in the order `columns`, int64 [columns], which what it multiplies takes first."""

    matrix: Matrix
    columns: Value

    def product(self, c: GraphContext, x: Value) -> Value:
        """x [..., columns] @ matrix.T; what several matrices of one order read is ordered once."""
        turned = c.shared((x, self.columns), lambda: c.graph.op("Gather", x, self.columns, axis=-1))
        return self.matrix.product(c, turned)

    def gather(self, c: GraphContext, index: Value) -> Value:
        """Not there: no method orders the columns of what is looked up."""
        raise MobiusError("a matrix with columns of its own order cannot be looked up", "convert a GGUF of the model")


def ordered(
    c: GraphContext, matrix: Matrix, order: npt.NDArray[np.intp] | None, records: Sequence[TensorRecord]
) -> Matrix:
    """The matrix of these tensors, whose columns are in this order; None: in the model's."""
    if order is None:
        return matrix
    name = f"column_order_{zlib.crc32(order.astype('<i8').tobytes()):08x}"
    for record in records:
        record.format += _MARK + name
    return OrderedMatrix(matrix, c.graph.constant(name, order.astype(np.int64)))


def stored_order(record: TensorRecord, array: Callable[[str], npt.NDArray[Any]]) -> npt.NDArray[np.intp] | None:
    """Of a tensor in a folder, whose initializers `array` gives by name."""
    _, mark, name = record.format.partition(_MARK)
    return array(name).astype(np.intp) if mark else None
