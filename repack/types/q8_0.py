"""Q8_0: 32 signed bytes and one scale; exact in an 8-bit MatMulNBits of block 32."""

from repack import bits
from repack.quant_type import Plane, QuantType
from repack.types.common import flat_codes, plane_d

#  0       2                34
#  | d f16 | q0..q31 int8   |     weight = d * q; flipping the sign bit makes int8 uint8 around 128
Q8_0 = QuantType(
    "Q8_0",
    value="d * q",
    bits=8,
    block_size=32,
    planes={
        "codes": Plane("uint8", 32, lambda raw: raw[:, 2:34] ^ 0x80),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=flat_codes,
    scale=plane_d,
    float16_scale="d",
)
