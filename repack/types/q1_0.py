"""Q1_0: 128 signs and one scale; 4-bit codes, block 128."""

from repack import bits
from repack.quant_type import Plane, QuantType
from repack.types.common import gathered_codes, plane_d

SPREAD = bits.pair_pack(bits.bit_table(1, [7, 9]))  # around the zero point 8: -1 or 1


#  0       2                     18
#  | d f16 | 128 bits, LSB first |     weight = d if the bit is set, else -d
Q1_0 = QuantType(
    "Q1_0",
    value="d or -d",
    bits=4,
    block_size=128,
    planes={
        "signs": Plane("uint8", 16, lambda raw: raw[:, 2:18]),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=gathered_codes("signs", lambda: SPREAD),
    scale=plane_d,
    float16_scale="d",
)
