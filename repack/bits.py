"""Bit arrangements shared by several types, and plain floats. All arrays are uint8 with blocks along axis 0."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
F16 = npt.NDArray[np.float16]


def float16(raw: U8) -> F16:
    """Little-endian float16 fields: uint8 [n, 2 k] -> float16 [n, k]."""
    return np.ascontiguousarray(raw).view("<f2")


def read_floats(raw: U8, type_name: str) -> npt.NDArray[np.float32]:
    """F32, F16 and BF16 as float32, into which all three widen exactly: uint8 [rows, bytes] -> [rows, columns]."""
    if type_name == "BF16":
        return bfloat16(np.ascontiguousarray(raw).view("<u2"))
    kind = {"F32": "<f4", "F16": "<f2"}[type_name]
    return np.ascontiguousarray(raw).view(kind).astype(np.float32)


def bfloat16(words: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    """Words, each the upper half of a float32, as such."""
    return (words.astype(np.uint32) << 16).view(np.float32)


def all_finite(raw: U8, type_name: str) -> bool:
    """Whether F32, F16 or BF16 hold neither infinities nor NaN, whose exponents are all ones: uint8 [rows, bytes]."""
    kind, exponent = {"F32": ("<u4", 0x7F800000), "F16": ("<u2", 0x7C00), "BF16": ("<u2", 0x7F80)}[type_name]
    mask = np.array(exponent, kind)
    return not ((np.ascontiguousarray(raw).view(kind) & mask) == mask).any()


def halves(raw: U8, run: int) -> U8:
    """Unpack runs of bytes whose low nibbles come first: [n, g * run] -> values [n, 2 * g * run]."""
    grouped = raw.reshape(len(raw), -1, run)
    out = np.empty((len(raw), grouped.shape[1], 2, run), np.uint8)
    np.bitwise_and(grouped, 15, out=out[:, :, 0])
    np.right_shift(grouped, 4, out=out[:, :, 1])
    return out.reshape(len(raw), -1)


def halves_to_pairs(raw: U8, run: int) -> U8:
    """Reorder nibbles from `halves` order to consecutive pairs, low nibble first: [n, g * run] -> same shape.

    Two neighbouring bytes are handled as one 16-bit word: their low nibbles make one output byte of the first
    half, their high nibbles one of the second half.
    """
    words = np.ascontiguousarray(raw).view("<u2").reshape(len(raw), -1, run // 2)
    out = np.empty((len(raw), words.shape[1], 2, run // 2), np.uint8)
    np.copyto(out[:, :, 0], (words & 0x000F) | ((words >> 4) & 0x00F0), casting="unsafe")
    np.copyto(out[:, :, 1], ((words >> 4) & 0x000F) | ((words >> 8) & 0x00F0), casting="unsafe")
    return out.reshape(len(raw), -1)


def pair_pack(values: U8) -> U8:
    """Pack 4-bit values two to a byte, the first in the low nibble: [..., 2 k] -> [..., k]."""
    packed: U8 = values[..., 0::2] | (values[..., 1::2] << np.uint8(4))
    return packed


def pair_unpack(packed: U8) -> U8:
    """Inverse of `pair_pack`: [..., k] -> [..., 2 k]."""
    out = np.empty((*packed.shape[:-1], 2 * packed.shape[-1]), np.uint8)
    np.bitwise_and(packed, 15, out=out[..., 0::2])
    np.right_shift(packed, 4, out=out[..., 1::2])
    return out


def bit_table(width: int, values: list[int]) -> U8:
    """Table [256, 8 / width]: byte -> the `values` named by its fields of `width` bits, lowest field first."""
    shifts = np.arange(0, 8, width)
    fields = (np.arange(256)[:, None] >> shifts) & ((1 << width) - 1)
    table: U8 = np.asarray(values, np.uint8)[fields]
    return table


def six_bit_scales(raw: U8) -> U8:
    """Sub-scales of Q4_K and Q5_K: [n, 12] -> [n, 8] of 6-bit values; four bytes are handled as one word.

    ::

        byte j     (0-3):  | s[j+4] bits 5-4 | s[j]   6 bits |
        byte j + 4:        | m[j+4] bits 5-4 | m[j]   6 bits |
        byte j + 8:        | m[j+4] bits 3-0 | s[j+4] bits 3-0 |
    """
    a, _, c = words(raw, "<u4").T
    return _bytes_of(a & 0x3F3F3F3F, (c & 0x0F0F0F0F) | ((a >> 2) & 0x30303030))


def six_bit_minimums(raw: U8) -> U8:
    """Sub-minimums, which stand beside `six_bit_scales`: [n, 12] -> [n, 8]."""
    _, b, c = words(raw, "<u4").T
    return _bytes_of(b & 0x3F3F3F3F, ((c >> 4) & 0x0F0F0F0F) | ((b >> 2) & 0x30303030))


def _bytes_of(*parts: npt.NDArray[np.uint32]) -> U8:
    """The bytes of words [n], those of each part behind one another: [n, 4 * parts]."""
    return np.stack(parts, axis=1).astype("<u4", copy=False).view(np.uint8)


def fields(values: npt.NDArray[Any], width: int) -> U8:
    """Pack values of `width` (1 or 2) bits in order, lowest first: [n, k] -> [n, k * width / 8]."""
    if width == 1:
        return np.packbits(values, axis=1, bitorder="little")
    quads = values.reshape(len(values), -1, 4) << np.array([0, 2, 4, 6], np.uint8)
    packed: U8 = np.bitwise_or.reduce(quads, axis=2)
    return packed


def strided_fields(raw: U8, width: int, run: int) -> U8:
    """Values of `width` bits whose bit field f of byte j belongs to weight f * run + j of a group of runs.

    uint8 [n, g * run] -> [n, g * run * 8 / width], in weight order.
    """
    shifts = np.arange(0, 8, width, dtype=np.uint8).reshape(1, 1, -1, 1)
    grouped = (raw.reshape(len(raw), -1, 1, run) >> shifts) & np.uint8((1 << width) - 1)
    values: U8 = grouped.reshape(len(raw), -1)
    return values


def nibbles(raw: U8) -> U8:
    """Low nibble, then high nibble of each byte: [n, k] -> [n, 2 k]."""
    return pair_unpack(raw)


def words(raw: U8, dtype: str) -> Any:
    """Little-endian words: uint8 [n, k] -> [n, k / size]."""
    return np.ascontiguousarray(raw).view(dtype)


def word_fields(packed: Any, shifts: Sequence[int], mask: int) -> U8:
    """Fields of words: unsigned [n, k] -> uint8 [n, k * len(shifts)], the first shift first."""
    places = np.array(shifts, packed.dtype)
    values: U8 = ((packed[:, :, None] >> places) & packed.dtype.type(mask)).reshape(len(packed), -1).astype(np.uint8)
    return values
