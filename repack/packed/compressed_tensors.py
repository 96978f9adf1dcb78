"""compressed-tensors `pack-quantized`, symmetric, 4 and 8 bits: already the operator's bytes.

weight_packed int32 [rows, columns * bits / 32]: code k of a row is bits k * bits and on of the row, lowest first
weight_scale [rows, groups]                      weight = scale * (code - 2**(bits-1))
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from repack.bits import U8, read_floats
from repack.block_quantized import F64, BlockMatrix, Layout
from repack.errors import MobiusError

BITS = (4, 8)
MOST_BLOCK, LEAST_BLOCK = 128, 16  # of groups that span whole rows, and the least that the operator takes


@dataclass(frozen=True)
class PackedRows(BlockMatrix):
    """`packed` uint8 [rows, columns * bits / 8]; `scales` the bytes of `scale_type`, [rows, groups]."""

    layout: Layout
    packed: U8
    scales: U8
    scale_type: str
    order: npt.NDArray[np.intp] | None = None

    def cut(self, rows: tuple[int, int], columns: tuple[int, int]) -> "PackedRows":
        """Views of the same bytes."""
        whole, own, order = self.layout, slice(*rows), self.order
        codes = slice(*(end * whole.bits // 8 for end in columns))
        scales = slice(*(end * self.scales.shape[1] // whole.columns for end in columns))
        layout = replace(whole, rows=rows[1] - rows[0], columns=columns[1] - columns[0])
        if order is not None:
            own, order = slice(None), order[own]
        return PackedRows(layout, self.packed[own, codes], self.scales[own, scales], self.scale_type, order)

    def codes(self) -> U8:
        """As stored: uint8 [rows, blocks, block_size * bits / 8]."""
        rows = self.packed if self.order is None else self.packed[self.order]
        return rows.reshape(self.layout.rows, self.layout.block_shape.blocks, -1)

    def scale(self) -> F64:
        """Float64 [rows, blocks], exact; a group's own for each block of it."""
        rows = self.scales if self.order is None else self.scales[self.order]
        found = read_floats(rows, self.scale_type).astype(np.float64)
        return np.repeat(found, self.layout.block_shape.blocks // found.shape[1], axis=1)

    def offset(self) -> F64:
        """There is none."""
        raise NotImplementedError


def packed_layout(where: str, rows: int, columns: int, group: int, bits: int, scale_type: str) -> Layout:
    """The layout of a matrix with groups of so many columns.

    Raises:
        MobiusError: there are no whole blocks of it that the operator takes (`where` names the tensor).
    """
    block = min(group & -group, MOST_BLOCK)  # the largest power of two in it
    if columns % group or block < LEAST_BLOCK or rows < 1:
        raise MobiusError(
            f"{where}: groups of {group} in rows of {columns} weights are no whole blocks of 16 to {MOST_BLOCK}",
            "not supported yet: convert a GGUF of the model",
        )
    return Layout(bits, block, rows, columns, False, float16_scale=scale_type == "F16", together=group)
