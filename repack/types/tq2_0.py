"""TQ2_0: 256 ternary weights in 2 bits each, and one scale; 4-bit codes, block 256."""

from repack import bits
from repack.quant_type import Plane, QuantType
from repack.types.common import gathered_codes, plane_d

SPREAD = bits.pair_pack(bits.bit_table(2, [7, 8, 9, 10]))  # q + 7: around the zero point 8 that is q - 1


#  0                                              64      66
#  | 2 x 32: bits 2 g..2 g + 1 for run g of 32    | d f16 |     weight = d * (q - 1)
TQ2_0 = QuantType(
    "TQ2_0",
    value="d * (q - 1)",
    bits=4,
    block_size=256,
    planes={
        "codes": Plane("uint8", 64, lambda raw: bits.fields(bits.strided_fields(raw[:, 0:64], 2, 32), 2)),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 64:66])),
    },
    codes=gathered_codes("codes", lambda: SPREAD),
    scale=plane_d,
    float16_scale="d",
)
