"""A part of a matrix that stands in a checkpoint: which of its rows and columns, picked before anything is read."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from repack.block_quantized import BlockMatrix, Layout

Rows = slice | npt.NDArray[np.intp]  # a run of rows, or some in an order of their own


@dataclass(frozen=True)
class PickedMatrix(BlockMatrix):
    """`rows` of the stored matrix, and as many columns as `layout` has from `first_column` on."""

    layout: Layout
    rows: Rows
    first_column: int

    def cut(self, rows: tuple[int, int], columns: tuple[int, int]) -> Self:
        """Of the same tensors."""
        layout = replace(self.layout, rows=rows[1] - rows[0], columns=columns[1] - columns[0])
        if isinstance(self.rows, slice):
            own: Rows = slice(self.rows.start + rows[0], self.rows.start + rows[1])
        else:
            own = self.rows[slice(*rows)]
        return replace(self, layout=layout, rows=own, first_column=self.first_column + columns[0])
