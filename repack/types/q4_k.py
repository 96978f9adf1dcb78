"""Q4_K: 8 sub-blocks of 32 nibbles with 6-bit sub-scales and sub-minimums under two super-scales."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.types.common import flat_codes, sub_scaled


def _scale(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """d * s."""
    return sub_scaled(ops, planes["scales"], planes["d"], shape)


def _offset(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """8 d s - dmin m, because the implicit zero point of 4 bits is 8."""
    minimum = sub_scaled(ops, planes["minimums"], planes["dmin"], shape)
    return ops.sub(ops.times(_scale(ops, planes, shape), 8.0), minimum)


#  0       2          4                 16                                                       144
#  | d f16 | dmin f16 | s, m: 8 x 6 bit | 4 runs of 32 bytes: sub-block 2 g low, 2 g + 1 high    |
#  weight = d * s * q - dmin * m
Q4_K = QuantType(
    "Q4_K",
    value="d * s * q - dmin * m",
    bits=4,
    block_size=32,
    planes={
        "codes": Plane("uint8", 128, lambda raw: bits.halves_to_pairs(raw[:, 16:144], run=32)),
        "scales": Plane("uint8", 8, lambda raw: bits.six_bit_scales(raw[:, 4:16])),
        "minimums": Plane("uint8", 8, lambda raw: bits.six_bit_minimums(raw[:, 4:16])),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
        "dmin": Plane("float16", 1, lambda raw: bits.float16(raw[:, 2:4])),
    },
    codes=flat_codes,
    scale=_scale,
    offset=_offset,
    offset_is_a_sum=True,
)
