"""IQ3_S: groups of 4 odd weights from a grid of 512, with signs; odd numbers fit 4 bits with an offset."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import grid_pairs, sign_complements
from repack.types.common import odd_scale
from repack.types.grids import ONE_BIT


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """(v + 15) / 2 of an odd v in -15..15; minus is the complement 15 - c."""
    groups = (shape.rows, -1, 32, 2)
    high = ops.reshape(ops.gather(ONE_BIT, planes["index_high"]), groups)
    index = ops.wide_index(ops.reshape(planes["index"], groups), high)
    magnitudes = ops.gather(grid_pairs("IQ3_S", halve=True, plus=15), index)
    codes = ops.bit_xor(magnitudes, ops.gather(sign_complements(), planes["signs"]))
    return ops.reshape(codes, (shape.rows, shape.blocks, 16))


#  0       2                   66                      74               106             110
#  | d f16 | index: 64 x 8 bit | index: 64 x high bit  | signs: 256 bit | s: 8 nibbles  |
#  weight = d * (2 s + 1) * v = 2 d (2 s + 1) * (c - 8) + d (2 s + 1)
IQ3_S = QuantType(
    "IQ3_S",
    value="d * (2 s + 1) * grid[i] * sign",
    bits=4,
    block_size=32,
    planes={
        "index": Plane("uint8", 64, lambda raw: raw[:, 2:66]),
        "index_high": Plane("uint8", 8, lambda raw: raw[:, 66:74]),
        "signs": Plane("uint8", 32, lambda raw: raw[:, 74:106]),
        "scales": Plane("uint4", 8, lambda raw: bits.nibbles(raw[:, 106:110])),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=_codes,
    scale=odd_scale(4.0, 2.0),
    offset=odd_scale(2.0, 1.0),
)
