"""What a quantized type is: its planes, and how they become codes, scales and offsets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.bits import U8
from repack.block_sizes import BLOCK_SIZES
from repack.ops import Ops


@dataclass(frozen=True)
class Plane:
    """A part of the blocks as it is stored: `count` elements of `dtype` per GGUF block.

    `dtype` is "uint8", "int8", "uint16", "uint4" (extracted one value per byte, stored two) or "float16".
    """

    dtype: str
    count: int
    extract: Callable[[U8], npt.NDArray[Any]] = field(repr=False)

    @property
    def nbytes(self) -> int:
        """Stored bytes per GGUF block."""
        return {"uint8": 2, "int8": 2, "uint4": 1, "float16": 4, "uint16": 4}[self.dtype] * self.count // 2


@dataclass(frozen=True)
class Grid:
    """Shape of a quantized matrix: `rows` rows of `blocks` operator blocks."""

    rows: int
    blocks: int


Planes = Mapping[str, Any]
Decoder = Callable[[Ops[Any], Planes, Grid], Any]


@dataclass(frozen=True)
class QuantType:
    """A GGUF type as ``scale * (code - 2**(bits - 1)) + offset`` per block of `block_size` weights.

    `codes` gives uint8 [rows, blocks, block_size * bits / 8] (4-bit codes in pairs, low nibble first);
    `scale` and `offset` give floats [rows, blocks]. `float16_scale` names the plane that *is* the scale,
    for types that store one float16 per operator block.
    """

    name: str
    value: str  # the formula of one weight, for people
    bits: int
    block_size: int
    planes: dict[str, Plane]
    codes: Decoder = field(repr=False)
    scale: Decoder = field(repr=False)
    offset: Decoder | None = field(default=None, repr=False)
    float16_scale: str | None = None
    offset_is_a_sum: bool = False  # of two products, which float32 may have to round

    @property
    def gguf_block(self) -> tuple[int, int]:
        """Weights and bytes of one GGUF block."""
        return BLOCK_SIZES[self.name]

    def extract(self, plane: str, raw: U8) -> npt.NDArray[Any]:
        """One plane of rows of blocks: uint8 [rows, row_bytes] -> [rows, GGUF blocks in a row, count]."""
        found = self.planes[plane]
        values = found.extract(raw.reshape(-1, self.gguf_block[1]))
        return np.ascontiguousarray(values).reshape(len(raw), -1, found.count)
