"""What the types with a grid share: signs, indices, and codes of grid values around 128."""

from collections.abc import Callable
from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes
from repack.tables import even_sign_factors
from repack.types.common import HIGH_PAIR

SEVENTH = bits.bit_table(1, [0, 64])
LOW_PAIR = bits.bit_table(2, [0, 1, 2, 3])
THIRD = bits.bit_table(1, [0, 4])
ONE_BIT = bits.bit_table(1, [0, 1])


def packed_signs(word: Any) -> bits.U8:
    """Four 7-bit sign indices from the low 28 bits of each word: [n, 8] -> [n, 32]."""
    return bits.word_fields(word, (0, 7, 14, 21), 127)


def packed_threes(word: Any) -> bits.U8:
    """Four 3-bit numbers from the low 12 bits of each word: [n, k] -> [n, 4 k]."""
    return bits.word_fields(word, (0, 3, 6, 9), 7)


def seven_bit_planes(name: str, extract: Callable[[bits.U8], Any]) -> dict[str, Plane]:
    """7-bit numbers [n, 32] as planes of 4, 2 and 1 bits: 28 bytes, as in the file."""
    return {
        f"{name}_low": Plane("uint4", 32, lambda raw: extract(raw) & 15),
        f"{name}_mid": Plane("uint8", 8, lambda raw: bits.fields((extract(raw) >> 4) & 3, 2)),
        f"{name}_top": Plane("uint8", 4, lambda raw: bits.fields(extract(raw) >> 6, 1)),
    }


def even_signs(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """Sign factors (1 or 255) of 32 groups of 8 weights, from 7-bit planes "signs_*": [rows, n, 32, 2, 4]."""
    wanted = (shape.rows, -1, 32)
    high = ops.reshape(ops.gather(HIGH_PAIR, planes["signs_mid"]), wanted)
    top = ops.reshape(ops.gather(SEVENTH, planes["signs_top"]), wanted)
    index = ops.bit_or(ops.bit_or(ops.to_uint8(planes["signs_low"]), high), top)
    return ops.gather(even_sign_factors(), index)


def signed_codes(ops: Ops[Any], centred: Any, signs: Any, shape: BlockShape, block_size: int) -> Any:
    """Grid bytes + 128 times sign factors, modulo 256: 128 + v or 128 - v. Shapes [rows, n, 32, 2, 4]."""
    return ops.reshape(ops.mul(centred, signs), (shape.rows, shape.blocks, block_size))


def three_bit_planes(name: str, count: int, extract: Callable[[bits.U8], Any]) -> dict[str, Plane]:
    """3-bit numbers [n, count] as planes of 2 bits and 1 bit."""
    return {
        f"{name}_pair": Plane("uint8", count // 4, lambda raw: bits.fields(extract(raw) & 3, 2)),
        f"{name}_third": Plane("uint8", count // 8, lambda raw: bits.fields(extract(raw) >> 2, 1)),
    }


def three_bits(ops: Ops[Any], planes: Planes, name: str, shape: BlockShape, count: int) -> Any:
    """Numbers of `three_bit_planes`: uint8 [rows, GGUF blocks, count]."""
    wanted = (shape.rows, -1, count)
    pair = ops.reshape(ops.gather(LOW_PAIR, planes[f"{name}_pair"]), wanted)
    return ops.bit_or(pair, ops.reshape(ops.gather(THIRD, planes[f"{name}_third"]), wanted))
