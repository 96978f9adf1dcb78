"""A quantized matrix in the form in which operators take it, and its layout, known before any data is read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.bits import U8, pair_unpack
from repack.errors import MobiusError
from repack.ops import NumpyOps
from repack.quant_type import BlockShape, QuantType

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Shapes of a quantized matrix [rows, columns]: weight = scale * (code - 2**(bits-1)) + offset."""

    bits: int
    block_size: int
    rows: int
    columns: int
    has_offset: bool

    @property
    def block_shape(self) -> BlockShape:
        """Rows and operator blocks per row."""
        return BlockShape(self.rows, self.columns // self.block_size)

    @property
    def code_bytes(self) -> int:
        """Bytes of one row's codes."""
        return self.columns * self.bits // 8


class ExtractedPlanes(Mapping[str, Any]):
    """Planes of one tensor, cut out of its bytes when asked for."""

    def __init__(self, quant: QuantType, raw: U8) -> None:
        self._quant, self._raw = quant, raw

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._quant.extract(name, self._raw)

    def __iter__(self) -> Iterator[str]:
        return iter(self._quant.planes)

    def __len__(self) -> int:
        return len(self._quant.planes)


@dataclass(frozen=True)
class BlockQuantized:
    """A quantized matrix: `raw` is uint8 [rows, bytes of a row] of GGUF blocks of type `quant`."""

    quant: QuantType
    layout: Layout
    raw: U8

    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""
        codes: U8 = self.quant.codes(NumpyOps(), ExtractedPlanes(self.quant, self.raw), self.layout.block_shape)
        return codes

    def scale(self) -> F64:
        """Float64 [rows, blocks]: products of stored numbers, exact."""
        result: F64 = self.quant.scale(
            NumpyOps(np.float64), ExtractedPlanes(self.quant, self.raw), self.layout.block_shape
        )
        return result

    def offset(self) -> F64:
        """Float64 [rows, blocks], exact; only for types that have one."""
        assert self.quant.offset is not None
        result: F64 = self.quant.offset(
            NumpyOps(np.float64), ExtractedPlanes(self.quant, self.raw), self.layout.block_shape
        )
        return result

    def dequantize(self) -> npt.NDArray[np.float32]:
        """Float32 [rows, columns]: the formula in float64, rounded once; equals `gguf.dequantize` bit for bit."""
        codes = self.codes()
        values = pair_unpack(codes) if self.layout.bits == 4 else codes
        weights = values.astype(np.float64)
        weights -= 2 ** (self.layout.bits - 1)
        weights *= self.scale()[..., None]
        if self.quant.offset is not None:
            weights += self.offset()[..., None]
        return weights.astype(np.float32).reshape(self.layout.rows, self.layout.columns)


def layout_of(quant: QuantType, rows: int, columns: int, where: str) -> Layout:
    """Layout of a matrix [rows, columns].

    Raises:
        MobiusError: `columns` is not a whole number of blocks (`where` names the tensor).
    """
    block = quant.gguf_block[0]
    if columns % block:
        raise MobiusError(
            f"{where}: rows of {columns} weights are not a multiple of the {quant.name} block of {block}",
            "the file is damaged or made by an unusual tool: download it again",
        )
    return Layout(quant.bits, quant.block_size, rows, columns, quant.offset is not None)
