"""IQ2_XXS: groups of 8 weights from a grid of 256, with signs; a 4-bit sub-scale per 32 weights."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import centred_grid
from repack.types.common import odd_scale
from repack.types.grids import even_signs, packed_signs, seven_bit_planes, signed_codes


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    magnitudes = ops.gather(centred_grid("IQ2_XXS"), planes["index"])
    return signed_codes(ops, magnitudes, even_signs(ops, planes, shape), shape, 32)


def _pairs(raw: bits.U8) -> Any:
    return bits.words(raw[:, 2:66], "<u4").reshape(len(raw), 8, 2)


#  0       2                                                                                           66
#  | d f16 | 8 times: 4 grid indices of 8 bits, then a word of 4 x 7 bits of signs and 4 bits of s     |
#  weight = d * (2 s + 1) / 8 * grid[index] * sign
IQ2_XXS = QuantType(
    "IQ2_XXS",
    value="d * (2 s + 1) / 8 * grid[i] * sign",
    bits=8,
    block_size=32,
    planes={
        "index": Plane("uint8", 32, lambda raw: bits.words(_pairs(raw)[:, :, 0], "u1")),
        **seven_bit_planes("signs", lambda raw: packed_signs(_pairs(raw)[:, :, 1])),
        "scales": Plane("uint4", 8, lambda raw: (_pairs(raw)[:, :, 1] >> 28).astype("u1")),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=_codes,
    scale=odd_scale(0.25, 0.125),
)
