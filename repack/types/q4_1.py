"""Q4_1: 32 nibbles, a scale and a minimum; the codes are centred, the rest goes into the offset."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.types.common import flat_codes, per_block, plane_d


def _offset(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """8 d + m, because the implicit zero point of 4 bits is 8."""
    return ops.add(ops.times(plane_d(ops, planes, shape), 8.0), per_block(ops, planes["m"], shape))


#  0       2       4                                   20
#  | d f16 | m f16 | low: q0..q15, high: q16..q31      |     weight = d * q + m
Q4_1 = QuantType(
    "Q4_1",
    value="d * q + m",
    bits=4,
    block_size=32,
    planes={
        "codes": Plane("uint8", 16, lambda raw: bits.halves_to_pairs(raw[:, 4:20], run=16)),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
        "m": Plane("float16", 1, lambda raw: bits.float16(raw[:, 2:4])),
    },
    codes=flat_codes,
    scale=plane_d,
    offset=_offset,
    offset_is_a_sum=True,
    float16_scale="d",
)
