"""Q2_0: 64 two-bit codes and one scale; 4-bit codes, block 64."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import Grid, Plane, Planes, QuantType
from repack.types.common import plane_d

SPREAD = bits.pair_pack(bits.bit_table(2, [7, 8, 9, 10]))  # q + 7: around the zero point 8 that is q - 1


def _codes(ops: Ops[Any], planes: Planes, grid: Grid) -> Any:
    return ops.reshape(ops.gather(SPREAD, planes["codes"]), (grid.rows, grid.blocks, 32))


#  0       2                              18
#  | d f16 | 64 x 2 bits, lowest first    |     weight = d * (q - 1)
Q2_0 = QuantType(
    "Q2_0",
    value="d * (q - 1)",
    bits=4,
    block_size=64,
    planes={
        "codes": Plane("uint8", 16, lambda raw: raw[:, 2:18]),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 0:2])),
    },
    codes=_codes,
    scale=plane_d,
    float16_scale="d",
)
