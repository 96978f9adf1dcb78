"""TQ1_0: 256 ternary weights, five to a byte in base 3, and one scale; 4-bit codes, block 256."""

from typing import Any

import numpy as np

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import trits
from repack.types.common import plane_d

RUNS = ((0, 32, 5), (32, 48, 5), (48, 52, 4))  # bytes from, to; digits of each: digit t of byte j is weight t * n + j


def _in_order(raw: bits.U8) -> bits.U8:
    """Digits in weight order, five to a byte again: [n, 54] -> [n, 52]; the last byte holds one."""
    table = trits()
    parts = [table[raw[:, a:b]][..., :digits].transpose(0, 2, 1).reshape(len(raw), -1) for a, b, digits in RUNS]
    digits = np.concatenate([*parts, np.zeros((len(raw), 4), np.uint8)], axis=1).reshape(len(raw), 52, 5)
    number = digits.astype(np.uint16) @ np.array([81, 27, 9, 3, 1], np.uint16)
    return ((number * 256 + 242) // 243).astype(np.uint8)  # so that multiplying by 3 shifts out the digits


def _codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """Digit + 7: around 8 that is digit - 1."""
    digits = ops.reshape(ops.gather(trits() + np.uint8(7), planes["digits"]), (shape.rows, shape.blocks, 260))
    return ops.pairs(ops.first(digits, 256))


#  0                                     48                      52      54
#  | 32 bytes x 5, 16 bytes x 5 digits   | 4 bytes x 4 digits    | d f16 |     weight = d * (digit - 1)
TQ1_0 = QuantType(
    "TQ1_0",
    value="d * (t - 1)",
    bits=4,
    block_size=256,
    planes={
        "digits": Plane("uint8", 52, _in_order),
        "d": Plane("float16", 1, lambda raw: bits.float16(raw[:, 52:54])),
    },
    codes=_codes,
    scale=plane_d,
    float16_scale="d",
)
