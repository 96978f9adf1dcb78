"""A source's matrix as a folder has to hold it: the same codes, scales and offsets rounded once to the graph's type."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from converters.weights.rounding import Rounding, rounded
from repack.bits import U8
from repack.block_quantized import F64, BlockMatrix, Layout


@dataclass(frozen=True)
class RoundedMatrix(BlockMatrix):
    """`matrix` with its numbers in `dtype`; None: as they are. `notes`: what that changed, by kind of number."""

    matrix: BlockMatrix
    dtype: str | None
    notes: dict[str, Rounding] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:  # type: ignore[override]
        """As the matrix."""
        return self.matrix.layout

    def cut(self, rows: tuple[int, int], columns: tuple[int, int]) -> "RoundedMatrix":
        """With notes of its own."""
        return RoundedMatrix(self.matrix.cut(rows, columns), self.dtype)

    def codes(self) -> U8:
        """As the matrix."""
        return self.matrix.codes()

    def scale(self) -> F64:
        """Float64 [rows, blocks]."""
        return self._in_type(self.matrix.scale(), "scale")

    def offset(self) -> F64:
        """Float64 [rows, blocks]."""
        return self._in_type(self.matrix.offset(), "offset")

    def zero_points(self) -> U8 | None:
        """As the matrix."""
        return self.matrix.zero_points()

    def column_order(self) -> npt.NDArray[np.intp] | None:
        """As the matrix."""
        return self.matrix.column_order()

    def _in_type(self, values: F64, kind: str) -> F64:
        if self.dtype is None:
            return values
        stored, notes = rounded(values, self.dtype)
        self.notes[kind] = Rounding()
        self.notes[kind].add(notes or ())
        return stored.astype(np.float64)
