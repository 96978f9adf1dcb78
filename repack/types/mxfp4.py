"""MXFP4: 32 E2M1 numbers and a shared power of two; 8-bit codes of the doubled numbers."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import codebook, e8m0_halves
from repack.types.common import gathered_codes


def _scale(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """2 ** (e - 128)."""
    return ops.reshape(ops.gather(e8m0_halves(), planes["e"]), (shape.rows, shape.blocks))


#  0        1                                   17
#  | e E8M0 | low: x0..x15, high: x16..x31      |     weight = 2 ** (e - 127) * e2m1[x]
MXFP4 = QuantType(
    "MXFP4",
    value="2 ** (e - 127) * e2m1[x]",
    bits=8,
    block_size=32,
    planes={
        "codes": Plane("uint16", 8, lambda raw: bits.words(bits.halves_to_pairs(raw[:, 1:17], run=16), "<u2")),
        "e": Plane("uint8", 1, lambda raw: raw[:, 0:1]),
    },
    codes=gathered_codes("codes", lambda: codebook("MXFP4")),
    scale=_scale,
)
