"""A quantized matrix in the form in which operators take it, and its layout, known before any data is read."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.bands import over_bands
from repack.bits import U8, pair_unpack
from repack.errors import MobiusError
from repack.ops import NumpyOps
from repack.quant_type import BlockShape, Decoder, QuantType

F64 = npt.NDArray[np.float64]
BAND = 4096  # GGUF blocks that are decoded together


@dataclass(frozen=True)
class Layout:
    """Shapes of a quantized matrix [rows, columns]: weight = scale * (code - 2**(bits-1)) + offset.

    `scale_type`: a type that holds every scale as it is. `together`: how many columns the file stores as one, a
    multiple of a block. `zero_points`: each block has an integer of its own in place of 2**(bits-1).
    """

    bits: int
    block_size: int
    rows: int
    columns: int
    has_offset: bool
    scale_type: str = "float32"
    together: int = 0
    zero_points: bool = False

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


class BlockMatrix(ABC):
    """What operators need of a quantized matrix, whatever file it stands in; nothing is read before it is asked for.

    A source whose blocks have integer zero points, or columns in another order, says so here, and what cannot honour
    that refuses.
    """

    layout: Layout

    @abstractmethod
    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""

    @abstractmethod
    def scale(self) -> F64:
        """Float64 [rows, blocks], exact."""

    @abstractmethod
    def offset(self) -> F64:
        """Float64 [rows, blocks], exact; only where the layout has offsets."""

    @abstractmethod
    def cut(self, rows: tuple[int, int], columns: tuple[int, int]) -> "BlockMatrix":
        """Some of the rows and columns, from one up to another; of columns those that the file stores together."""

    def zero_points(self) -> U8 | None:
        """Integer zero points uint8 [rows, blocks]; None: 2**(bits - 1) everywhere."""
        return None

    def column_order(self) -> npt.NDArray[np.intp] | None:
        """Which column of the product's input each stored column belongs to; None: its own."""
        return None

    def dequantize(self) -> npt.NDArray[np.float32]:
        """Float32 [rows, columns], in the model's order: the formula in float64, rounded once.

        Of a GGUF file it equals `gguf.dequantize` bit for bit.
        """
        codes = self.codes()
        values = pair_unpack(codes) if self.layout.bits == 4 else codes
        weights, zeros = values.astype(np.float64), self.zero_points()
        weights -= 2 ** (self.layout.bits - 1) if zeros is None else zeros[..., None]
        weights *= self.scale()[..., None]
        if self.layout.has_offset:
            weights += self.offset()[..., None]
        found = weights.astype(np.float32).reshape(self.layout.rows, self.layout.columns)
        order = self.column_order()
        if order is None:
            return found
        whole = np.empty_like(found)
        whole[:, np.argsort(np.argsort(order))] = found  # of a cut, among its own columns
        return whole


class DecodedMatrix(BlockMatrix):
    """A matrix of a type of GGUF files, whose decoders make codes and numbers of its planes."""

    quant: QuantType

    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""
        return self._decoded(self.quant.codes, NumpyOps())

    def scale(self) -> F64:
        """Float64 [rows, blocks]: products of stored numbers, exact."""
        return self._decoded(self.quant.scale, NumpyOps(np.float64))

    def offset(self) -> F64:
        """Float64 [rows, blocks], exact; only for types that have one."""
        assert self.quant.offset is not None
        return self._decoded(self.quant.offset, NumpyOps(np.float64))

    @abstractmethod
    def _decoded(self, decode: Decoder, ops: NumpyOps) -> npt.NDArray[Any]:
        """What a decoder makes of all rows."""


@dataclass(frozen=True)
class BlockQuantized(DecodedMatrix):
    """A matrix in GGUF blocks of type `quant`: `raw` is uint8 [rows, bytes of a row], `order` picks its rows."""

    quant: QuantType
    layout: Layout
    raw: U8
    order: npt.NDArray[np.intp] | None = None

    @property
    def rows(self) -> U8:
        """The blocks, rows in order."""
        return self.raw if self.order is None else self.raw[self.order]

    def cut(self, rows: tuple[int, int], columns: tuple[int, int]) -> "BlockQuantized":
        """Views of the same bytes."""
        weights, nbytes = self.quant.gguf_block
        own, beside = slice(*rows), slice(*(end // weights * nbytes for end in columns))
        layout = replace(self.layout, rows=rows[1] - rows[0], columns=columns[1] - columns[0])
        if self.order is None:
            return replace(self, layout=layout, raw=self.raw[own, beside])
        return replace(self, layout=layout, raw=self.raw[:, beside], order=self.order[own])

    @property
    def planes(self) -> ExtractedPlanes:
        """The type's planes of these rows."""
        return ExtractedPlanes(self.quant, self.rows)

    def _decoded(self, decode: Decoder, ops: NumpyOps) -> npt.NDArray[Any]:
        """By bands of rows, whose intermediate results stay in a processor's cache, on all processors."""
        shape, in_row = self.layout.block_shape, self.raw.shape[1] // self.quant.gguf_block[1]
        step = max(1, BAND // in_row)

        def decoded(band: slice) -> npt.NDArray[Any]:
            raw = self.raw[band if self.order is None else self.order[band]]
            part: npt.NDArray[Any] = decode(ops, ExtractedPlanes(self.quant, raw), BlockShape(len(raw), shape.blocks))
            return part

        return np.concatenate(over_bands(shape.rows, step, decoded))


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
    has_offset, scale_type = quant.offset is not None, "float16" if quant.float16_scale else "float32"
    return Layout(quant.bits, quant.block_size, rows, columns, has_offset, scale_type, together=block)
