"""Matrices of integers with a scale for each group of columns, as checkpoints of several methods store them.

weight = scale * (code - zero point), or scale * code + bias: one formula, many ways to arrange the bits, of which the
modules beside this one know one each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.bits import U8, pair_pack, pair_unpack, read_floats
from repack.block_quantized import F64, Layout
from repack.errors import MobiusError
from repack.packed.picked import PickedMatrix, Rows

F32 = npt.NDArray[np.float32]
BITS = (2, 3, 4, 8)
NAMES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}  # of types of scales
WIDER = {2: 4, 3: 4, 5: 8, 6: 8}  # bits that codes are widened to, which are the operators'
MOST_BLOCK, LEAST_BLOCK = 128, 16  # of groups that span whole rows, and the least that the operator takes


@dataclass(frozen=True)
class Integers:
    """What a method stores of one matrix [rows, columns], read when it is asked for.

    `stream`: the codes of rows as a dense stream of `bits` each, in the order of columns, lowest bits first: uint8
    [rows, columns * bits / 8]. `scales` float32 [rows, groups]. `zeros`: integer zero points uint8 [rows, groups];
    None: 2**(bits-1) everywhere. `biases` [rows, groups] are added to scale * code in place of zero points. `columns`:
    the column that each stored one belongs to, so that groups stand together; None: its own.
    """

    bits: int
    stream: Callable[[Rows], U8]
    scales: Callable[[Rows], F32]
    zeros: Callable[[Rows], U8] | None = None
    biases: Callable[[Rows], F32] | None = None
    columns: npt.NDArray[np.intp] | None = None


@dataclass(frozen=True)
class IntegerMatrix(PickedMatrix):
    """Some rows and columns of them; `group` columns have one scale."""

    stored: Integers
    group: int

    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""
        layout, stream, bits = self.layout, self.stored.stream(self.rows), self.stored.bits
        first, end = self.first_column, self.first_column + layout.columns
        if bits == layout.bits and self.stored.columns is None:  # already the operator's bytes
            found = stream[:, first * bits // 8 : end * bits // 8]
        else:
            values = unpacked(stream, bits)
            chosen = slice(first, end) if self.stored.columns is None else self.stored.columns[first:end]
            moved = values[:, chosen] + self._shift
            found = moved if layout.bits == 8 else pair_pack(moved)
        return np.ascontiguousarray(found).reshape(layout.rows, layout.block_shape.blocks, -1)

    def scale(self) -> F64:
        """Float64 [rows, blocks], exact; a group's own for each block of it."""
        return self._of_blocks(self.stored.scales(self.rows).astype(np.float64))

    def offset(self) -> F64:
        """What the biases are beside codes that are centred: exact."""
        assert self.stored.biases is not None
        biases = self._of_blocks(self.stored.biases(self.rows).astype(np.float64))
        centred: F64 = biases + self.scale() * 2 ** (self.stored.bits - 1)
        return centred

    def zero_points(self) -> U8 | None:
        """uint8 [rows, blocks]; None where there are none."""
        return None if self.stored.zeros is None else self._of_blocks(self.stored.zeros(self.rows)) + self._shift

    def column_order(self) -> npt.NDArray[np.intp] | None:
        """Of the columns that it has."""
        order = self.stored.columns
        return None if order is None else order[self.first_column : self.first_column + self.layout.columns]

    @property
    def _shift(self) -> np.uint8:
        """What widened codes are moved by, so that their middle stays the middle."""
        return np.uint8((1 << (self.layout.bits - 1)) - (1 << (self.stored.bits - 1)))

    def _of_blocks(self, groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
        size = self.layout.block_size
        blocks = (self.first_column + size * np.arange(self.layout.block_shape.blocks)) // self.group
        return groups[:, blocks]


def integer_matrix(where: str, rows: int, columns: int, group: int, scale_type: str, stored: Integers) -> IntegerMatrix:
    """All of a matrix with groups of so many columns.

    Raises:
        MobiusError: there are no whole blocks of it that the operator takes (`where` names the tensor).
    """
    block = min(group & -group, MOST_BLOCK)  # the largest power of two in it
    if columns % group or block < LEAST_BLOCK or rows < 1:
        raise MobiusError(
            f"{where}: groups of {group} in rows of {columns} weights are no whole blocks of 16 to {MOST_BLOCK}",
            "not supported yet: convert a GGUF of the model",
        )
    bits, zeros = WIDER.get(stored.bits, stored.bits), stored.zeros is not None
    layout = Layout(
        bits, block, rows, columns, stored.biases is not None, NAMES[scale_type], together=group,
        zero_points=zeros,
    )  # fmt: skip
    return IntegerMatrix(layout, slice(0, rows), 0, stored, group)


def unpacked(stream: U8, bits: int) -> U8:
    """Codes one to a byte of a dense stream, lowest bits first: [..., bytes] -> [..., bytes * 8 / bits]."""
    if bits == 8:
        return stream
    if bits == 4:
        return pair_unpack(stream)
    single = np.unpackbits(np.ascontiguousarray(stream), axis=-1, bitorder="little")
    count = single.shape[-1] // bits
    grouped = single[..., : count * bits].reshape(*single.shape[:-1], count, bits)
    padded = np.zeros((*grouped.shape[:-1], 8), np.uint8)
    padded[..., :bits] = grouped
    return np.packbits(padded, axis=-1, bitorder="little")[..., 0]


def words_as_bytes(words: npt.NDArray[Any]) -> U8:
    """Little-endian 32-bit words [..., n] as bytes [..., 4 n]."""
    return np.ascontiguousarray(words).view(np.uint8)


def floats_of(raw: U8, dtype: str, shape: tuple[int, ...]) -> F32:
    """A tensor's bytes as float32."""
    return read_floats(raw.reshape(1, -1), dtype).reshape(shape)
