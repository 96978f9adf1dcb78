"""Lookup tables: codebooks and grids of the `gguf` package, in the form in which decoders gather them."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.bits import U8, bit_table, pair_pack

F32 = npt.NDArray[np.float32]


def _theirs(type_name: str) -> Any:
    """What the `gguf` package has for a type; imported late, because that takes long and few types need it."""
    import gguf.quants

    return getattr(gguf.quants, type_name)


@cache
def codebook(type_name: str) -> U8:
    """[65536, 4]: a word of four indices -> four table values + 128, for types with 16 values.

    Four at a time, because what a session gathers with must be int32: this keeps that at a byte per weight.
    """
    values = (np.array(_theirs(type_name).kvalues, np.int16) + 128).astype(np.uint8)
    word = np.arange(65536)
    return values[np.stack([(word >> shift) & 15 for shift in (0, 4, 8, 12)], axis=1)]


@cache
def grid(type_name: str) -> npt.NDArray[np.int16]:
    """The grid of an IQ type: int16 [entries, 4 or 8]."""
    kind = _theirs(type_name)
    kind.init_grid()
    return np.asarray(kind.grid, np.int16).reshape(kind.grid_shape)


@cache
def grid_bytes(type_name: str, times: int = 1, plus: int = 0) -> U8:
    """The grid as bytes, times a factor plus a term."""
    return (grid(type_name) * times + plus).astype(np.uint8)


@cache
def centred_grid(type_name: str) -> U8:
    """The magnitudes of a grid + 128, in fours: [entries, 2, 4], or [entries, 4] for grids of four."""
    values = grid_bytes(type_name, plus=128)
    return values if values.shape[1] == 4 else values.reshape(-1, 2, 4)


@cache
def grid_pairs(type_name: str, halve: bool, plus: int) -> U8:
    """The grid as 4-bit codes in pairs: (values + plus) / (2 if halve else 1)."""
    codes = (grid(type_name) + plus) // (2 if halve else 1)
    return pair_pack(codes.astype(np.uint8))


@cache
def sign_factors() -> U8:
    """[256, 2, 4]: bit set -> 255, that is -1 modulo 256; clear -> 1."""
    return bit_table(1, [1, 255]).reshape(256, 2, 4)


@cache
def even_sign_factors() -> U8:
    """[128, 2, 4]: as `sign_factors`, from 7 bits whose eighth makes the number of minus signs even."""
    signs = np.frombuffer(_theirs("IQ2_XXS").ksigns, np.uint8)
    return sign_factors()[signs]


@cache
def sign_complements() -> U8:
    """[256, 2, 2]: bits to masks of nibble pairs; xor with 15 turns code c into 15 - c."""
    return pair_pack(bit_table(1, [0, 15])).reshape(256, 2, 2)


@cache
def trits() -> U8:
    """[256, 5]: TQ1_0's byte of five base-3 digits -> digits, most significant first."""
    powers = np.array([1, 3, 9, 27, 81], np.uint8)
    byte = np.arange(256, dtype=np.uint8)[:, None] * powers
    return ((byte.astype(np.uint16) * 3) >> 8).astype(np.uint8)


@cache
def e8m0_halves() -> F32:
    """[256]: MXFP4's exponent byte -> half of the power of two, because its codes are doubled."""
    byte = np.arange(256, dtype=np.uint32)
    return np.asarray(_theirs("MXFP4").e8m0_to_fp32_half(byte), np.float32)


@cache
def ue4m3_halves() -> F32:
    """[256]: NVFP4's scale byte -> half of its value, because its codes are doubled."""
    return np.asarray(_theirs("NVFP4").ue4m3_to_fp32(np.arange(256, dtype=np.uint8)), np.float32)
