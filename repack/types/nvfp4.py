"""NVFP4: 4 sub-blocks of 16 E2M1 numbers with an E4M3 scale each; 8-bit codes of the doubled numbers."""

from typing import Any

from repack import bits
from repack.ops import Ops
from repack.quant_type import BlockShape, Plane, Planes, QuantType
from repack.tables import codebook, ue4m3_halves
from repack.types.common import gathered_codes


def _scale(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """Half of e4m3[s]."""
    return ops.reshape(ops.gather(ue4m3_halves(), planes["scales"]), (shape.rows, shape.blocks))


#  0              4                                           36
#  | s: 4 x E4M3  | 4 runs of 8: low x0..x7, high x8..x15     |     weight = e4m3[s] * e2m1[x]
NVFP4 = QuantType(
    "NVFP4",
    value="e4m3[s] * e2m1[x]",
    bits=8,
    block_size=16,
    planes={
        "codes": Plane("uint16", 16, lambda raw: bits.words(bits.halves_to_pairs(raw[:, 4:36], run=8), "<u2")),
        "scales": Plane("uint8", 4, lambda raw: raw[:, 0:4]),
    },
    codes=gathered_codes("codes", lambda: codebook("NVFP4")),
    scale=_scale,
)
