"""What a matrix of the model is to the blocks that use it, and what a form of matrices has to do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.weights.records import TensorRecord
from repack.bits import U8
from repack.block_quantized import F64, BlockMatrix, Layout


class Matrix(Protocol):
    """A matrix [rows, columns] as graph values."""

    def product(self, c: GraphContext, x: Value) -> Value:
        """x [..., columns] @ matrix.T."""

    def gather(self, c: GraphContext, index: Value) -> Value:
        """The rows of an index [batch, sequence]: [batch, sequence, columns]."""


class SelectableMatrix(Matrix, Protocol):
    """A matrix that can be cut at run time; `index` int64 [count] picks bands of `width` rows or columns."""

    def rows_of(self, c: GraphContext, index: Value, count: int, width: int) -> Matrix:
        """The picked rows."""

    def columns_of(self, c: GraphContext, index: Value, count: int, width: int) -> Matrix:
        """The picked columns."""


def band(c: GraphContext, index: Value, width: int) -> Value:
    """Numbers of the elements of bands of `width`: int64 [count * width]."""
    g = c.graph
    within = g.constant(f"band_{width}", np.arange(width, dtype=np.int64)[None])
    starts = g.op("Mul", g.op("Unsqueeze", index, g.ints(1)), c.integer(f"width_{width}", width))
    return c.shared((index, width), lambda: g.op("Reshape", g.op("Add", starts, within), g.ints(-1)))


@dataclass(frozen=True)
class StoredRows:
    """A tensor, or one of several whose rows stand below one another; `read` opens it when the file is written."""

    record: TensorRecord
    layout: Layout
    read: Callable[[], BlockMatrix]

    def matrix(self) -> BlockMatrix:
        """The tensor's blocks."""
        return self.read()


Parts = Sequence[StoredRows]  # of one matrix, below one another


@dataclass(frozen=True)
class ExpertStack:
    """`matrices` [rows, columns], whose products lack the offsets: `offset` [experts, blocks, rows], or None.

    The products of few rows each are many small nodes; the correction is one batch for all experts.
    """

    layout: Layout | None  # of one expert's matrix; None for floats
    matrices: Sequence[Matrix]
    offset: Value | None


class WeightFormat(Protocol):
    """A form of quantized matrices: how they stand in the graph, and how a folder's are read back."""

    def emit(self, c: GraphContext, name: str, parts: Sequence[StoredRows], gathered: bool) -> SelectableMatrix:
        """Put a matrix into the graph, and note in the records what became of its tensors.

        `name` is the tensor's, or one for all parts together, which are of one type. `gathered`: its rows are only
        looked up, never multiplied.
        """

    def emit_experts(self, c: GraphContext, name: str, parts: Sequence[Parts]) -> ExpertStack:
        """The same for a stack of matrices: the parts of each expert's."""

    def emit_beside(self, c: GraphContext, name: str, parts: Sequence[StoredRows]) -> SelectableMatrix:
        """The same for matrices that stand beside one another, column bands of one."""

    def read_back(
        self,
        array: Callable[[str], npt.NDArray[Any]],
        layout: Layout,
        record: TensorRecord,
        expert: int | None = None,
    ) -> BlockMatrix:
        """The rows of one tensor in a folder's matrix; `array` gives the folder's initializers by name."""


@dataclass(frozen=True)
class FolderRows(BlockMatrix):
    """Rows `first_row` and on of a matrix in a folder, whose scales, offsets and zero points are [rows, blocks] or,
    turned, their transposes; of their columns those from `first_column` on. `order`: as `column_order`, of all.
    """

    layout: Layout
    first_row: int
    all_codes: npt.NDArray[Any]
    all_scale: npt.NDArray[Any]
    all_offset: npt.NDArray[Any] | None
    turned: bool = False
    first_column: int = 0
    all_zeros: U8 | None = None
    order: npt.NDArray[np.intp] | None = None

    def cut(self, rows: tuple[int, int], columns: tuple[int, int]) -> Self:
        """Of the same arrays."""
        return replace(
            self,
            layout=replace(self.layout, rows=rows[1] - rows[0], columns=columns[1] - columns[0]),
            first_row=self.first_row + rows[0],
            first_column=self.first_column + columns[0],
        )

    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""
        return self.own(self.all_codes)

    def scale(self) -> F64:
        """Float64 [rows, blocks]."""
        return np.ascontiguousarray(self.own(self.all_scale), np.float64)

    def offset(self) -> F64:
        """Float64 [rows, blocks]; only for types that have one."""
        assert self.all_offset is not None
        return np.ascontiguousarray(self.own(self.all_offset), np.float64)

    def zero_points(self) -> U8 | None:
        """uint8 [rows, blocks]; None where there are none."""
        return None if self.all_zeros is None else self.own(self.all_zeros)

    def column_order(self) -> npt.NDArray[np.intp] | None:
        """Of the columns that it has."""
        return None if self.order is None else self.order[self.first_column : self.first_column + self.layout.columns]

    def own(self, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """This tensor's rows and blocks of an array of all, standing upright."""
        first, count = self.first_column // self.layout.block_size, self.layout.block_shape.blocks
        upright = stored.T if self.turned else stored
        return upright[self.first_row : self.first_row + self.layout.rows, first : first + count]


def whole_layout(parts: Sequence[StoredRows]) -> Layout:
    """Of all parts, below one another."""
    return replace(parts[0].layout, rows=sum(part.layout.rows for part in parts))


def block_sums(c: GraphContext, x: Value, layout: Layout) -> Value:
    """Sum of x over each block, made once for all matrices of it: [..., columns] -> [..., blocks]."""

    def make() -> Value:
        blocks = c.graph.ints(0, 0, layout.block_shape.blocks, layout.block_size)
        grouped = c.graph.op("Reshape", x, blocks, name="blocks")
        return c.graph.op("ReduceSum", grouped, c.graph.ints(-1), name="blocks", keepdims=0)

    return c.shared((x, layout.block_size), make)
