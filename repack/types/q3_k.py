"""Q3_K: 16 sub-blocks of 16 three-bit codes with 6-bit sub-scales; exact in a 4-bit MatMulNBits of block 16."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.types.common import six_bit_scale

# Low two bits, and 8 or 4 from the third: together q + 4 in 4 bits, around 8 that is q - 4.
LOW = bits.pair_pack(bits.bit_table(2, [0, 1, 2, 3]))
HIGH = bits.pair_pack(bits.bit_table(1, [4, 8])).reshape(256, 2, 2)


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    low = ops.gather(LOW, ops.reshape(planes["low"], (shape.rows, shape.blocks, 2, 2)))
    high = ops.gather(HIGH, ops.reshape(planes["high"], (shape.rows, shape.blocks, 2)))
    return ops.reshape(ops.bit_or(low, high), (shape.rows, shape.blocks, 8))


#  0                               32                                      96                      108     110
#  | 32: bit g is the third of run | 2 x 32: bits 2 g..2 g + 1 of run g   | s: 8 x 2 low nibbles, | d f16 |
#  | g of 32 weights               | of 32                                | 4 x 4 high bit pairs  |       |
#  weight = d * (s - 32) * (q - 4)
Q3_K = QuantType(
    "Q3_K",
    value="d * (s - 32) * (q - 4)",
    bits=4,
    block_size=16,
    planes={
        "low": Plane("uint8", 64, lambda raw: bits.fields(bits.strided_fields(raw[:, 32:96], 2, 32), 2)),
        "high": Plane("uint8", 32, lambda raw: bits.fields(bits.strided_fields(raw[:, 0:32], 1, 32), 1)),
        "scales": Plane("uint4", 16, lambda raw: bits.halves(raw[:, 96:104], run=8)),
        "scales_high": Plane("uint8", 4, lambda raw: bits.fields(bits.strided_fields(raw[:, 104:108], 2, 4), 2)),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 108:110])),
    },
    codes=_codes,
    scale=six_bit_scale(16),
)
