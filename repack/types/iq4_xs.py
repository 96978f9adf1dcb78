"""IQ4_XS: 8 sub-blocks of 32 indices into IQ4_NL's table, with 6-bit sub-scales; 8-bit codes."""

import numpy as np

from repack import bits
from repack.quant_type import Plane, QuantType
from repack.tables import codebook
from repack.types.common import gathered_codes, six_bit_scale

#  0       2                       4                    8                                           136
#  | d f16 | high bits of s: 8 x 2 | low of s: nibbles  | 8 runs of 16: low i0..i15, high i16..i31  |
#  weight = d * (s - 32) * table[i]
IQ4_XS = QuantType(
    "IQ4_XS",
    value="d * (s - 32) * table[i]",
    bits=8,
    block_size=32,
    planes={
        "codes": Plane("uint16", 64, lambda raw: bits.words(bits.halves_to_pairs(raw[:, 8:136], run=16), "<u2")),
        "scales": Plane("uint4", 8, lambda raw: bits.nibbles(raw[:, 4:8])),
        "scales_high": Plane("uint8", 2, lambda raw: np.ascontiguousarray(raw[:, 2:4])),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=gathered_codes("codes", lambda: codebook("IQ4_NL")),
    scale=six_bit_scale(8),
)
