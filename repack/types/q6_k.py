"""Q6_K: 16 sub-blocks of 16 six-bit codes with signed 8-bit sub-scales."""

from typing import Any

import numpy as np

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.types.common import sub_scaled

# Bits 4-5 of a code q, placed so that low nibble | table entry = q + 96: around 128 this is q - 32.
HIGH_BITS = bits.bit_table(2, [96, 112, 128, 144])


def _high_pairs(raw: bits.U8) -> bits.U8:
    """Bits 4-5, four weights to a byte in weight order: [n, 64] -> [n, 64].

    In each half, bits 2 s and 2 s + 1 of byte j belong to weight 32 s + j.
    """
    packed = raw[:, 128:192].reshape(-1, 2, 1, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    fields = ((packed >> shifts) & 3).reshape(len(raw), 64, 4)
    places = np.array([1, 4, 16, 64], np.uint8)
    packed_fields: bits.U8 = (fields * places).sum(axis=2, dtype=np.uint8)
    return packed_fields


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """A 4-bit plane and a 2-bit plane -> q + 96."""
    low = ops.to_uint8(ops.reshape(planes["low"], (shape.rows, shape.blocks, 4, 4)))
    high = ops.gather(HIGH_BITS, ops.reshape(planes["high"], (shape.rows, shape.blocks, 4)))
    return ops.reshape(ops.bit_or(low, high), (shape.rows, shape.blocks, 16))


def _scale(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """d * s."""
    return sub_scaled(ops, planes["scales"], planes["d"], shape)


#  0                                             128                 192              208     210
#  | 2 halves of 64: weights 0-63 low, 64-127 hi | 2 halves of 32:   | s: 16 int8     | d f16 |
#  |                                             | bits 4-5          |                |       |
#  weight = d * s * (q - 32)
Q6_K = QuantType(
    "Q6_K",
    value="d * s * (q - 32)",
    bits=8,
    block_size=16,
    planes={
        "low": Plane("uint4", 256, lambda raw: bits.halves(raw[:, 0:128], run=64)),
        "high": Plane("uint8", 64, _high_pairs),
        "scales": Plane("int8", 16, lambda raw: np.ascontiguousarray(raw[:, 192:208]).view(np.int8)),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 208:210])),
    },
    codes=_codes,
    scale=_scale,
)
