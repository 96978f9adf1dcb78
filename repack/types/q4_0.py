"""Q4_0: 32 nibbles and one scale; exact in a 4-bit MatMulNBits of block 32."""

from repack import bits
from repack.quant_type import Plane, QuantType
from repack.types.common import flat_codes, plane_d

#  0       2                                   18
#  | d f16 | low: q0..q15, high: q16..q31      |     weight = d * (q - 8)
Q4_0 = QuantType(
    "Q4_0",
    value="d * (q - 8)",
    bits=4,
    block_size=32,
    planes={
        "codes": Plane("uint8", 16, lambda raw: bits.halves_to_pairs(raw[:, 2:18], run=16)),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=flat_codes,
    scale=plane_d,
    float16_scale="d",
)
