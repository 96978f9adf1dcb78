"""FP4 as checkpoints have it: pairs of E2M1 numbers, the first in the low nibble, and a byte of scale for each block.

MXFP4: uint8 [rows, columns / 2], and E8M0 scales uint8 [rows, columns / 32].
NVFP4: the same with E4M3 scales [rows, columns / 16], and one float32 for all, which is no part of this.
"""

from dataclasses import dataclass

import numpy as np

from repack.bits import U8, pair_pack, pair_unpack
from repack.block_quantized import F64, BlockQuantized, layout_of
from repack.packed.picked import PickedMatrix
from repack.quant_type import QuantType
from repack.registry import QUANT_TYPES

BLOCKS = {"MXFP4": 32, "NVFP4": 16}  # numbers of a scale


@dataclass(frozen=True)
class Fp4Matrix(PickedMatrix):
    """Some rows and columns: `pairs` and `scales` of all; GGUF's blocks are made when they are asked for."""

    quant: QuantType
    pairs: U8
    scales: U8

    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""
        return self._blocks().codes()

    def scale(self) -> F64:
        """Float64 [rows, blocks], exact."""
        return self._blocks().scale()

    def offset(self) -> F64:
        """There is none."""
        raise NotImplementedError

    def _blocks(self) -> BlockQuantized:
        size, (weights, nbytes) = BLOCKS[self.quant.name], self.quant.gguf_block
        first, end = self.first_column, self.first_column + self.layout.columns
        numbers = pair_unpack(self.pairs[self.rows, first // 2 : end // 2])
        halves = numbers.reshape(len(numbers), -1, 2, size // 2)  # the first half of a block, and the second
        nibbles = pair_pack(np.stack([halves[:, :, 0], halves[:, :, 1]], axis=-1).reshape(len(numbers), -1))
        count = self.layout.columns // weights
        scales = self.scales[self.rows, first // size : end // size].reshape(len(numbers), count, -1)
        raw = np.concatenate([scales, nibbles.reshape(len(numbers), count, -1)], axis=2)
        assert raw.shape[2] == nbytes
        return BlockQuantized(self.quant, self.layout, raw.reshape(len(numbers), -1))


def fp4_matrix(where: str, kind: str, pairs: U8, scales: U8) -> Fp4Matrix:
    """All of a matrix of "MXFP4" or "NVFP4".

    Raises:
        MobiusError: its rows are no whole blocks of GGUF's type (`where` names the tensor).
    """
    quant, (rows, half) = QUANT_TYPES[kind], pairs.shape
    return Fp4Matrix(layout_of(quant, rows, 2 * half, where), slice(0, rows), 0, quant, pairs, scales)
