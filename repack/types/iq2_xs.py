"""IQ2_XS: groups of 8 weights from a grid of 512, with signs; a 4-bit sub-scale per 16 weights."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import centred_grid
from repack.types.common import odd_scale
from repack.types.grids import ONE_BIT, even_signs, seven_bit_planes, signed_codes


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    high = ops.reshape(ops.gather(ONE_BIT, planes["index_high"]), (shape.rows, -1, 32))
    magnitudes = ops.gather(centred_grid("IQ2_XS"), ops.wide_index(planes["index"], high))
    return signed_codes(ops, magnitudes, even_signs(ops, planes, shape), shape, 16)


def _words(raw: bits.U8) -> Any:
    return bits.words(raw[:, 2:66], "<u2")


#  0       2                                               66                74
#  | d f16 | 32 words: 9 bits of index, 7 bits of signs    | s: 16 nibbles   |
#  weight = d * (2 s + 1) / 8 * grid[index] * sign
IQ2_XS = QuantType(
    "IQ2_XS",
    value="d * (2 s + 1) / 8 * grid[i] * sign",
    bits=8,
    block_size=16,
    planes={
        "index": Plane("uint8", 32, lambda raw: (_words(raw) & 255).astype("u1")),
        "index_high": Plane("uint8", 4, lambda raw: bits.fields(((_words(raw) >> 8) & 1).astype("u1"), 1)),
        **seven_bit_planes("signs", lambda raw: (_words(raw) >> 9).astype("u1")),
        "scales": Plane("uint4", 16, lambda raw: bits.nibbles(raw[:, 66:74])),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=_codes,
    scale=odd_scale(0.25, 0.125),
)
