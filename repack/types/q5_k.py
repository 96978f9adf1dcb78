"""Q5_K: 8 sub-blocks of 32 five-bit codes with 6-bit sub-scales and sub-minimums."""

from typing import Any

import numpy as np

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.types.common import five_bit_codes, sub_scaled


def _fifth_bits(raw: bits.U8) -> bits.U8:
    """Bit s of byte j belongs to weight j of sub-block s; bring them into weight order: [n, 32] -> [n, 32]."""
    by_byte = np.unpackbits(raw[:, 16:48, None], axis=2, bitorder="little")  # [n, weight j, sub-block s]
    return np.packbits(by_byte.transpose(0, 2, 1), axis=2, bitorder="little").reshape(len(raw), 32)


def _scale(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """d * s."""
    return sub_scaled(ops, planes["scales"], planes["d"], shape)


def _offset(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """16 d s - dmin m, because the codes are centred on q = 16."""
    minimum = sub_scaled(ops, planes["minimums"], planes["dmin"], shape)
    return ops.sub(ops.times(_scale(ops, planes, shape), 16.0), minimum)


#  0       2          4                 16                48                                                  176
#  | d f16 | dmin f16 | s, m: 8 x 6 bit | 32: fifth bits  | 4 runs of 32: sub-block 2 g low, 2 g + 1 high     |
#  weight = d * s * q - dmin * m
Q5_K = QuantType(
    "Q5_K",
    value="d * s * q - dmin * m",
    bits=8,
    block_size=32,
    planes={
        "low": Plane("uint4", 256, lambda raw: bits.halves(raw[:, 48:176], run=32)),
        "high": Plane("uint8", 32, _fifth_bits),
        "scales": Plane("uint8", 8, lambda raw: bits.six_bit_scales(raw[:, 4:16])),
        "minimums": Plane("uint8", 8, lambda raw: bits.six_bit_minimums(raw[:, 4:16])),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
        "dmin": Plane("float16", 1, lambda raw: bits.float16(raw[:, 2:4])),
    },
    codes=five_bit_codes,
    scale=_scale,
    offset=_offset,
    offset_is_a_sum=True,
)
