"""IQ1_M: groups of 8 ternary weights from a grid of 2048, each group shifted by an eighth either way.

The shift is finer than a scale's block, so it goes into the codes: 8 * grid +- 1 with an eighth of the scale.
"""

from typing import Any

import numpy as np

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import grid_bytes
from repack.types.common import under
from repack.types.grids import packed_threes, three_bit_planes, three_bits

SHIFTS = bits.bit_table(1, [1, 255])  # +1 or -1 modulo 256


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    index = ops.wide_index(planes["index"], three_bits(ops, planes, "high", shape, 32))
    values = ops.gather(grid_bytes("IQ1_M", times=8, plus=128), index)
    shifts = ops.reshape(ops.gather(SHIFTS, planes["shifts"]), (shape.rows, -1, 32, 1))
    return ops.reshape(ops.add(values, shifts), (shape.rows, shape.blocks, 16))


def _scale(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """d * (2 s + 1) / 8."""
    sub = ops.plus(ops.times(ops.to_float(three_bits(ops, planes, "scales", shape, 16)), 0.25), 0.125)
    return under(ops, sub, planes["d"], shape)


def _words(raw: bits.U8) -> Any:
    return bits.words(raw[:, 48:56], "<u2")


def _d(raw: bits.U8) -> bits.F16:
    """The float16 lies in the top nibbles of the four scale words, lowest nibble first."""
    top = _words(raw) >> 12
    d: bits.F16 = (top << np.array([0, 4, 8, 12], np.uint16)).sum(axis=1, dtype=np.uint16)[:, None].view("<f2")
    return d


#  0                   32                                               48                                    56
#  | index: 32 x 8 bit | 32 nibbles: 3 high bits of index, sign of shift | 4 words: 4 x 3 bits of s, 4 of d   |
#  weight = d * (2 s + 1) * (grid[index] +- 1 / 8)
IQ1_M = QuantType(
    "IQ1_M",
    value="d * (2 s + 1) * (grid[i] +- 1/8)",
    bits=8,
    block_size=16,
    planes={
        "index": Plane("uint8", 32, lambda raw: raw[:, 0:32]),
        **three_bit_planes("high", 32, lambda raw: bits.nibbles(raw[:, 32:48]) & 7),
        "shifts": Plane("uint8", 4, lambda raw: bits.fields(bits.nibbles(raw[:, 32:48]) >> 3, 1)),
        **three_bit_planes("scales", 16, lambda raw: packed_threes(_words(raw))),
        "d": Plane("float16", 1, _d),
    },
    codes=_codes,
    scale=_scale,
)
