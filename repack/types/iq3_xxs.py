"""IQ3_XXS: groups of 4 weights from a grid of 256, with signs; a 4-bit sub-scale per 32 weights."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import centred_grid
from repack.types.common import odd_scale
from repack.types.grids import even_signs, packed_signs, seven_bit_planes, signed_codes


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    magnitudes = ops.gather(centred_grid("IQ3_XXS"), ops.reshape(planes["index"], (shape.rows, -1, 32, 2)))
    return signed_codes(ops, magnitudes, even_signs(ops, planes, shape), shape, 32)


def _words(raw: bits.U8) -> Any:
    return bits.words(raw[:, 66:98], "<u4")


#  0       2                   66                                            98
#  | d f16 | index: 64 x 8 bit | 8 words: 4 x 7 bits of signs, 4 bits of s   |
#  weight = d * (2 s + 1) / 4 * grid[index] * sign
IQ3_XXS = QuantType(
    "IQ3_XXS",
    value="d * (2 s + 1) / 4 * grid[i] * sign",
    bits=8,
    block_size=32,
    planes={
        "index": Plane("uint8", 64, lambda raw: raw[:, 2:66]),
        **seven_bit_planes("signs", lambda raw: packed_signs(_words(raw))),
        "scales": Plane("uint4", 8, lambda raw: (_words(raw) >> 28).astype("u1")),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=_codes,
    scale=odd_scale(0.5, 0.25),
)
