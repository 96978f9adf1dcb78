"""Q5_1: 32 five-bit codes, a scale and a minimum."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.types.common import five_bit_codes, per_block, plane_d


def _offset(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """16 d + m, because the codes are centred on q = 16."""
    return ops.add(ops.times(plane_d(ops, planes, shape), 16.0), per_block(ops, planes["m"], shape))


#  0       2       4                        8                                   24
#  | d f16 | m f16 | fifth bits, LSB first  | low: q0..q15, high: q16..q31      |     weight = d * q + m
Q5_1 = QuantType(
    "Q5_1",
    value="d * q + m",
    bits=8,
    block_size=32,
    planes={
        "low": Plane("uint4", 32, lambda raw: bits.halves(raw[:, 8:24], run=16)),
        "high": Plane("uint8", 4, lambda raw: raw[:, 4:8]),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
        "m": Plane("float16", 1, lambda raw: bits.float16(raw[:, 2:4])),
    },
    codes=five_bit_codes,
    scale=plane_d,
    offset=_offset,
    offset_is_a_sum=True,
    float16_scale="d",
)
