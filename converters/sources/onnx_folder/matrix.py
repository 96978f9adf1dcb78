"""A quantized matrix as a model folder holds it, in place of one in GGUF blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.bits import U8, pair_pack, pair_unpack
from repack.block_quantized import F64, BlockQuantized


@dataclass(frozen=True)
class FolderMatrix(BlockQuantized):
    """Rows `first_row` and on of a stored matrix; `raw` is empty, since the GGUF's blocks are not in the folder.

    `stored_codes` are MatMulNBits's uint8 [all rows, blocks, bytes], or with `standard` DequantizeLinear's: uint8
    [all] for 4 bits, two to a byte, else int8, both meaning [columns, rows] or with `rows_first` [rows, columns].
    """

    first_row: int
    standard: bool
    rows_first: bool
    stored_codes: npt.NDArray[Any]
    stored_scale: npt.NDArray[Any]
    stored_offset: npt.NDArray[Any] | None

    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""
        if not self.standard:
            return self._own(self.stored_codes)
        layout = self.layout
        four = layout.bits == 4
        numbers = pair_unpack(self.stored_codes.reshape(-1)) if four else self.stored_codes.view(np.uint8)
        upright = self._own(self._upright(numbers.reshape(self._standing(layout.columns))))
        centred = np.ascontiguousarray(upright) ^ np.uint8(1 << (layout.bits - 1))
        blocks = centred.reshape(layout.rows, layout.block_shape.blocks, layout.block_size)
        return pair_pack(blocks) if four else blocks

    def scale(self) -> F64:
        """Float64 [rows, blocks]."""
        return self._numbers(self.stored_scale)

    def offset(self) -> F64:
        """Float64 [rows, blocks]; only for types that have one."""
        assert self.stored_offset is not None
        return self._numbers(self.stored_offset)

    def _numbers(self, stored: npt.NDArray[Any]) -> F64:
        return np.ascontiguousarray(self._own(self._upright(stored)), np.float64)

    def _upright(self, stored: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return stored if self.rows_first else stored.T

    def _standing(self, columns: int) -> tuple[int, int]:
        return (-1, columns) if self.rows_first else (columns, -1)

    def _own(self, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return rows[self.first_row : self.first_row + self.layout.rows]
