"""IQ1_S: groups of 8 ternary weights from a grid of 2048, shifted by an eighth either way per 32 weights."""

from typing import Any

import numpy as np

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import grid_pairs
from repack.types.common import under
from repack.types.grids import packed_threes, three_bit_planes, three_bits


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """Grid value + 8 in 4 bits."""
    index = ops.wide_index(planes["index"], three_bits(ops, planes, "high", shape, 32))
    pairs = grid_pairs("IQ1_S", halve=False, plus=8)
    return ops.reshape(ops.gather(pairs, index), (shape.rows, shape.blocks, 16))


# Nibble of 3 bits of s and the sign of the shift -> 2 s + 1, and the shift itself.
STEPS = np.array([2 * (n & 7) + 1 for n in range(16)], np.float32)
SHIFTS = np.array([(2 * (n & 7) + 1) * (-0.125 if n & 8 else 0.125) for n in range(16)], np.float32)


def _times(table: Any, ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    return under(ops, ops.gather(table, ops.to_uint8(planes["scales"])), planes["d"], shape)


def _words(raw: bits.U8) -> Any:
    return bits.words(raw[:, 34:50], "<u2")


#  0       2                   34                                                               50
#  | d f16 | index: 32 x 8 bit | 8 words: 4 x 3 high bits of index, 3 bits of s, sign of shift  |
#  weight = d * (2 s + 1) * (grid[index] +- 1 / 8)
IQ1_S = QuantType(
    "IQ1_S",
    value="d * (2 s + 1) * (grid[i] +- 1/8)",
    bits=4,
    block_size=32,
    planes={
        "index": Plane("uint8", 32, lambda raw: raw[:, 2:34]),
        **three_bit_planes("high", 32, lambda raw: packed_threes(_words(raw))),
        "scales": Plane("uint4", 8, lambda raw: (_words(raw) >> 12).astype("u1")),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=_codes,
    scale=lambda ops, planes, shape: _times(STEPS, ops, planes, shape),
    offset=lambda ops, planes, shape: _times(SHIFTS, ops, planes, shape),
)
