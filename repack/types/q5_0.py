"""Q5_0: 32 five-bit codes and one scale; exact in an 8-bit MatMulNBits of block 32."""

from repack import bits
from repack.quant_type import Plane, QuantType
from repack.types.common import five_bit_codes, plane_d

#  0       2                        6                                   22
#  | d f16 | fifth bits, LSB first  | low: q0..q15, high: q16..q31      |     weight = d * (q - 16)
Q5_0 = QuantType(
    "Q5_0",
    value="d * (q - 16)",
    bits=8,
    block_size=32,
    planes={
        "low": Plane("uint4", 32, lambda raw: bits.halves(raw[:, 6:22], run=16)),
        "high": Plane("uint8", 4, lambda raw: raw[:, 2:6]),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=five_bit_codes,
    scale=plane_d,
    float16_scale="d",
)
