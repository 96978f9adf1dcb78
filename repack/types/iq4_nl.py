"""IQ4_NL: 32 indices into a table of 16 signed bytes, and one scale; 8-bit codes."""

from repack import bits
from repack.quant_type import Plane, QuantType
from repack.tables import codebook
from repack.types.common import gathered_codes, plane_d

#  0       2                                   18
#  | d f16 | low: i0..i15, high: i16..i31      |     weight = d * table[i]
IQ4_NL = QuantType(
    "IQ4_NL",
    value="d * table[i]",
    bits=8,
    block_size=32,
    planes={
        "codes": Plane("uint16", 8, lambda raw: bits.words(bits.halves_to_pairs(raw[:, 2:18], run=16), "<u2")),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=gathered_codes("codes", lambda: codebook("IQ4_NL")),
    scale=plane_d,
    float16_scale="d",
)
