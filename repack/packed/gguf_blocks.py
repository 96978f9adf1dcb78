"""From a matrix's codes, scales and zero points to the blocks of a GGUF type, where that type can hold them.

Blocks have 32 weights; a larger group repeats its numbers, and groups of 16 fit where two of a block are alike.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from repack.bits import U8, pair_pack, pair_unpack
from repack.block_quantized import F64, BlockMatrix
from repack.tables import codebook, e8m0_halves, ue4m3_halves

BLOCK = 32
_CENTRE = 8  # the zero point of Q4_0, and of 4-bit codes that have none of their own
_NVFP4_BLOCKS = 4  # sub-blocks of 16 that stand together


@dataclass
class Loss:
    """Numbers of blocks (scales, minimums) that a type can hold only rounded; `wrong`: codes that it has not at all."""

    numbers: int = 0
    rounded: int = 0
    max_relative_error: float = 0.0
    wrong: int = 0

    @property
    def exact(self) -> bool:
        """Whether the type holds the weights as they are."""
        return not (self.rounded or self.wrong)

    def add(self, other: "Loss") -> None:
        """Count these too."""
        self.numbers += other.numbers
        self.rounded += other.rounded
        self.wrong += other.wrong
        self.max_relative_error = max(self.max_relative_error, other.max_relative_error)


Encode = Callable[[BlockMatrix], tuple[U8, Loss]]  # uint8 [rows, bytes of a row]


def q4_0(matrix: BlockMatrix) -> tuple[U8, Loss]:
    """| d f16 | low: q0..q15, high: q16..q31 |."""
    loss = Loss()
    d, minimum = _numbers(matrix, loss)
    off = minimum != -_CENTRE * d
    loss.wrong += int(np.count_nonzero(off))
    return _blocks(matrix, _float16(d, loss), _nibbles(matrix)), loss


def q4_1(matrix: BlockMatrix) -> tuple[U8, Loss]:
    """| d f16 | m f16 | low: q0..q15, high: q16..q31 |.

    Codes of a block that are all larger than 0 count from the smallest on, where that has the minimum fit float16.
    """
    loss = Loss()
    d, minimum = _numbers(matrix, loss)
    least = pair_unpack(matrix.codes()).reshape(*d.shape, BLOCK).min(axis=2)
    moved = minimum + least * d
    shift = np.where(~_fits(minimum) & _fits(moved), least, 0).astype(np.uint8)
    minimum = np.where(shift > 0, moved, minimum)
    return _blocks(matrix, _float16(d, loss), _float16(minimum, loss), _nibbles(matrix, shift)), loss


def q8_0(matrix: BlockMatrix) -> tuple[U8, Loss]:
    """| d f16 | 32 x int8 |."""
    loss = Loss()
    d, zero = _per_block(matrix.scale(), matrix, loss), matrix.zero_points()
    loss.wrong += 0 if zero is None else int(np.count_nonzero(zero != 128))
    return _blocks(matrix, _float16(d, loss), matrix.codes().reshape(-1, BLOCK) ^ np.uint8(0x80)), loss


def mxfp4(matrix: BlockMatrix) -> tuple[U8, Loss]:
    """| e E8M0 | low: x0..x15, high: x16..x31 |."""
    loss = Loss()
    scale = _of_table(_per_block(matrix.scale(), matrix, loss), e8m0_halves()[:255], loss)
    codes = _fp4(matrix, loss).reshape(-1, 2, BLOCK // 2)
    return _blocks(matrix, scale.reshape(-1, 1), codes[:, 0] | (codes[:, 1] << np.uint8(4))), loss


def nvfp4(matrix: BlockMatrix) -> tuple[U8, Loss]:
    """| s: 4 x E4M3 | 4 runs of 8: low x0..x7, high x8..x15 |."""
    loss, size = Loss(), _NVFP4_BLOCKS
    scale = _of_table(matrix.scale(), ue4m3_halves()[:127], loss)
    codes = _fp4(matrix, loss).reshape(-1, size, 2, 8)
    packed = codes[:, :, 0] | (codes[:, :, 1] << np.uint8(4))
    return _blocks(matrix, scale.reshape(-1, size), packed.reshape(-1, 8 * size)), loss


def candidates(matrix: BlockMatrix) -> list[str]:
    """Types that may hold a matrix, the smallest first; empty where none has its widths."""
    layout = matrix.layout
    if matrix.column_order() is not None:
        return []
    if layout.bits == 8 and not layout.has_offset:
        fp4 = ["NVFP4"] if layout.block_size == 16 and layout.columns % 64 == 0 else ["MXFP4"]
        return [*fp4, "Q8_0"] if layout.columns % BLOCK == 0 else []
    if layout.bits != 4 or layout.columns % BLOCK:
        return []
    return ["Q4_1"] if layout.has_offset else ["Q4_0", "Q4_1"]


ENCODERS: dict[str, Encode] = {"Q4_0": q4_0, "Q4_1": q4_1, "Q8_0": q8_0, "MXFP4": mxfp4, "NVFP4": nvfp4}


def _numbers(matrix: BlockMatrix, loss: Loss) -> tuple[F64, F64]:
    """Scale and minimum of each block of 32, [rows, blocks]: weight = scale * code + minimum."""
    scale, zero = matrix.scale(), matrix.zero_points()
    minimum = -scale * (_CENTRE if zero is None else zero.astype(np.float64))
    if matrix.layout.has_offset:
        minimum = minimum + matrix.offset()
    return _per_block(scale, matrix, loss), _per_block(minimum, matrix, loss)


def _per_block(values: F64, matrix: BlockMatrix, loss: Loss) -> F64:
    """[rows, operator's blocks] -> [rows, blocks of 32]."""
    size = matrix.layout.block_size
    if size >= BLOCK:
        return np.repeat(values, size // BLOCK, axis=1)
    parts = values.reshape(len(values), -1, BLOCK // size)
    loss.wrong += int(np.count_nonzero(parts != parts[:, :, :1]))
    return np.ascontiguousarray(parts[:, :, 0])


def _float16(values: F64, loss: Loss) -> U8:
    """As bytes, [blocks, 2]."""
    with np.errstate(over="ignore", under="ignore"):
        stored = values.astype("<f2")
        error = np.abs(stored.astype(np.float64) - values)
    changed = error != 0
    loss.numbers += values.size
    loss.rounded += int(np.count_nonzero(changed))
    if changed.any():
        worst = float((error[changed] / np.abs(values[changed])).max())
        loss.max_relative_error = max(loss.max_relative_error, worst)
    return stored.reshape(-1, 1).view(np.uint8)


def _fits(values: F64) -> npt.NDArray[np.bool_]:
    """Which numbers float16 has."""
    with np.errstate(over="ignore", under="ignore"):
        fits: npt.NDArray[np.bool_] = values.astype(np.float16).astype(np.float64) == values
    return fits


def _nibbles(matrix: BlockMatrix, less: U8 | None = None) -> U8:
    """[blocks, 16]: the first half of a block's codes in the low nibbles; `less` is taken from each of a block."""
    codes = pair_unpack(matrix.codes()).reshape(-1, 2, BLOCK // 2)
    if less is not None:
        codes = codes - less.reshape(-1, 1, 1)
    return pair_pack(codes.transpose(0, 2, 1).reshape(len(codes), BLOCK))


def _fp4(matrix: BlockMatrix, loss: Loss) -> U8:
    """Indices of E2M1 for codes around 128; of the two zeros the first."""
    known = codebook("MXFP4")[:16, 0]
    table = np.full(256, 255, np.uint8)
    table[known[::-1]] = np.arange(16, dtype=np.uint8)[::-1]
    found = table[matrix.codes()]
    loss.wrong += int(np.count_nonzero(found == 255))
    return found & np.uint8(15)


def _of_table(values: F64, table: npt.NDArray[np.float32], loss: Loss) -> U8:
    """Places in an ascending table."""
    wide = table.astype(np.float64)
    places = np.searchsorted(wide, values).clip(max=len(wide) - 1)
    loss.wrong += int(np.count_nonzero(wide[places] != values))
    return places.astype(np.uint8)


def _blocks(matrix: BlockMatrix, *parts: U8) -> U8:
    """Parts of blocks side by side, by rows."""
    return np.concatenate(parts, axis=1).reshape(matrix.layout.rows, -1)
