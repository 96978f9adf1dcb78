"""What a quantized type is: its planes, and how they become codes, scales and offsets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.bits import U8
from repack.ggml_types import GGML_TYPES
from repack.ops import Ops

# Weights and bytes of one block of every GGUF type, by ggml name.
BLOCK_SIZES: dict[str, tuple[int, int]] = {name: (kind.weights, kind.size) for name, kind in GGML_TYPES.items()}


def bits_in_file(type_name: str) -> float:
    """Bits per weight of a GGUF type, as the file stores it."""
    weights, nbytes = BLOCK_SIZES[type_name]
    return 8 * nbytes / weights


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
class BlockShape:
    """Shape of a quantized matrix: `rows` rows of `blocks` operator blocks."""

    rows: int
    blocks: int


Planes = Mapping[str, Any]
Decoder = Callable[[Ops[Any], Planes, BlockShape], Any]


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

    def bits_stored(self, storage: str) -> float:
        """Bits per weight in a float32 graph: `small` holds planes, `fast` the operator's codes, scales and offsets."""
        if storage == "small":
            return 8 * sum(p.nbytes for p in self.planes.values()) / self.gguf_block[0]
        scale_bits = 16 if self.float16_scale else 32
        offset_bits = 32 if self.offset is not None else 0
        return self.bits + (scale_bits + offset_bits) / self.block_size

    @property
    def bits_in_memory(self) -> float:
        """Bits per weight that the operators read on a float32 graph: codes, float32 scales and offsets."""
        return self.bits + 32 * (1 + (self.offset is not None)) / self.block_size

    def extract(self, plane: str, raw: U8) -> npt.NDArray[Any]:
        """One plane of rows of blocks: uint8 [rows, row_bytes] -> [rows, GGUF blocks in a row, count]."""
        found = self.planes[plane]
        values = found.extract(raw.reshape(-1, self.gguf_block[1]))
        return np.ascontiguousarray(values).reshape(len(raw), -1, found.count)
