"""IQ2_S: groups of 8 weights from a grid of 1024, with signs; a 4-bit sub-scale per 16 weights."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import centred_grid, sign_factors
from repack.types.common import odd_scale
from repack.types.grids import LOW_PAIR, signed_codes


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    high = ops.reshape(ops.gather(LOW_PAIR, planes["index_high"]), (shape.rows, -1, 32))
    magnitudes = ops.gather(centred_grid("IQ2_S"), ops.wide_index(planes["index"], high))
    return signed_codes(ops, magnitudes, ops.gather(sign_factors(), planes["signs"]), shape, 16)


#  0       2                   34               66                        74                82
#  | d f16 | index: 32 x 8 bit | signs: 256 bit | index: 32 x 2 high bits | s: 16 nibbles   |
#  weight = d * (2 s + 1) / 8 * grid[index] * sign
IQ2_S = QuantType(
    "IQ2_S",
    value="d * (2 s + 1) / 8 * grid[i] * sign",
    bits=8,
    block_size=16,
    planes={
        "index": Plane("uint8", 32, lambda raw: raw[:, 2:34]),
        "index_high": Plane("uint8", 8, lambda raw: raw[:, 66:74]),
        "signs": Plane("uint8", 32, lambda raw: raw[:, 34:66]),
        "scales": Plane("uint4", 16, lambda raw: bits.nibbles(raw[:, 74:82])),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=_codes,
    scale=odd_scale(0.25, 0.125),
)
