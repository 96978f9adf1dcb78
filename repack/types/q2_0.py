"""Q2_0: 64 two-bit codes and one scale; 4-bit codes, block 64."""

from repack import bits
from repack.quant_type import Plane, QuantType
from repack.types.common import gathered_codes, plane_d

SPREAD = bits.pair_pack(bits.bit_table(2, [7, 8, 9, 10]))  # q + 7: around the zero point 8 that is q - 1


#  0       2                              18
#  | d f16 | 64 x 2 bits, lowest first    |     weight = d * (q - 1)
Q2_0 = QuantType(
    "Q2_0",
    value="d * (q - 1)",
    bits=4,
    block_size=64,
    planes={
        "codes": Plane("uint8", 16, lambda raw: raw[:, 2:18]),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=gathered_codes("codes", lambda: SPREAD),
    scale=plane_d,
    float16_scale="d",
)
