"""Q2_K: 16 sub-blocks of 16 two-bit codes with 4-bit sub-scales and sub-minimums; 4-bit codes, block 16."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.types.common import gathered_codes, sub_scaled

# Four codes q of a byte, as two bytes of 4-bit codes q + 6: around the 4-bit zero point 8 they are q - 2, the
# middle of 0..3, where int8 activations lose least.
SPREAD = bits.pair_pack(bits.bit_table(2, [6, 7, 8, 9]))


def _scale(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """d * s."""
    return sub_scaled(ops, planes["scales"], planes["d"], shape)


def _offset(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """2 d s - dmin m, because the codes are centred on q = 2."""
    minimum = sub_scaled(ops, planes["minimums"], planes["dmin"], shape)
    return ops.sub(ops.times(_scale(ops, planes, shape), 2.0), minimum)


#  0                         16                                           80      82         84
#  | 16: s low, m high nibble | 2 x 32: bits 2 g..2 g + 1 for run g of 32 | d f16 | dmin f16 |
#  weight = d * s * q - dmin * m
Q2_K = QuantType(
    "Q2_K",
    value="d * s * q - dmin * m",
    bits=4,
    block_size=16,
    planes={
        "codes": Plane("uint8", 64, lambda raw: bits.fields(bits.strided_fields(raw[:, 16:80], 2, 32), 2)),
        "scales": Plane("uint4", 16, lambda raw: raw[:, 0:16] & 15),
        "minimums": Plane("uint4", 16, lambda raw: raw[:, 0:16] >> 4),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 80:82])),
        "dmin": Plane("float16", 1, lambda raw: bits.float16(raw[:, 82:84])),
    },
    codes=gathered_codes("codes", lambda: SPREAD),
    scale=_scale,
    offset=_offset,
    offset_is_a_sum=True,
)
