"""Standard ONNX: DequantizeLinear over blocks of a transposed matrix, which runtimes fuse with the MatMul behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import InPieces, Value
from converters.weights import pieces
from converters.weights.experts import emit_each, expert_stem, place_stack
from converters.weights.matrix import (
    ExpertStack,
    FolderRows,
    Matrix,
    Parts,
    SelectableMatrix,
    StoredRows,
    block_sums,
    whole_layout,
)
from converters.weights.ordered import stored_order
from converters.weights.pieces import Make, joined, turned, upright
from converters.weights.records import TensorRecord
from repack.bits import U8, pair_pack, pair_unpack
from repack.block_quantized import BlockMatrix, Layout
from repack.errors import MobiusError

BLOCK_AXIS = 0  # of [columns, rows]: the one layout in which ONNX Runtime finds its fast product


@dataclass(frozen=True)
class QdqMatrix:
    """Signed `codes` [columns, rows], `scale`, `offset` and signed `zeros` [blocks, rows]; or all with rows first."""

    layout: Layout
    rows_first: bool
    codes: Value
    scale: Value
    offset: Value | None
    zeros: Value | None = None

    @property
    def nbytes(self) -> int:
        """Of all that is stored."""
        return sum(value.nbytes for value in (self.codes, self.scale, self.offset, self.zeros) if value is not None)

    def product(self, c: GraphContext, x: Value) -> Value:
        """MatMul with the dequantized matrix, and the offsets times the sums of x over blocks."""
        assert not self.rows_first
        size = self.layout.block_size
        inputs = [self.codes, self.scale, *(() if self.zeros is None else (self.zeros,))]
        weight = c.graph.op("DequantizeLinear", *inputs, axis=BLOCK_AXIS, block_size=size)
        y = c.graph.op("MatMul", x, weight)
        if self.offset is None:
            return y
        return c.graph.op("Add", y, c.graph.op("MatMul", block_sums(c, x, self.layout), self.offset))

    def rows_of(self, c: GraphContext, index: Value, count: int, width: int) -> Matrix:
        """Not there: see `Qdq.emit_beside`."""
        raise NotImplementedError

    columns_of = rows_of

    def gather(self, c: GraphContext, index: Value) -> Value:
        """Rows, dequantized block by block.

        A matrix that stands transposed for the head is transposed back when a session starts. That is a copy in
        memory, and has to be: ONNX Runtime fuses the head's DequantizeLinear only if nothing else reads its inputs.
        Gather does not take 4-bit codes: there they are widened as well, else they stand two to a byte.
        """
        g, layout, kind = c.graph, self.layout, c.target.dtype
        pairs = self.rows_first and layout.bits == 4
        codes = self.codes if layout.bits == 8 or pairs else g.cast(self.codes, "int8")

        def looked_up(stored: Value) -> Value:
            return g.op("Gather", stored if self.rows_first else g.op("Transpose", stored, perm=[1, 0]), index, axis=0)

        def blocks(found: Value, size: int) -> Value:
            return g.op("Reshape", found, g.ints(0, 0, layout.block_shape.blocks, size))

        if pairs:
            numbers = blocks(_nibbles(c, g.cast(looked_up(codes), kind)), layout.block_size)
        else:
            numbers = g.cast(blocks(looked_up(codes), layout.block_size), kind)
        if self.zeros is not None:
            zeros = self.zeros if layout.bits == 8 or pairs else g.cast(self.zeros, "int8")
            numbers = g.op("Sub", numbers, g.cast(blocks(looked_up(zeros), 1), kind))
        x = g.op("Mul", numbers, blocks(looked_up(self.scale), 1))
        if self.offset is not None:
            x = g.op("Add", x, blocks(looked_up(self.offset), 1))
        return g.op("Reshape", x, g.ints(0, 0, layout.columns))


def _nibbles(c: GraphContext, pairs: Value) -> Value:
    """Bytes as numbers [batch, sequence, count] -> the signed codes of either half, in order: [.., count, 2].

    By floors and products, which every runtime has and which are exact.
    """
    g = c.graph
    high = g.op("Floor", g.op("Mul", pairs, c.number("sixteenth", 1 / 16)))
    low = g.op("Sub", pairs, g.op("Mul", high, c.number("sixteen", 16.0)))
    both = g.op("Concat", *[g.op("Unsqueeze", half, g.ints(3)) for half in (low, high)], axis=3)
    negative = g.op("Floor", g.op("Mul", both, c.number("eighth", 1 / 8)))
    return g.op("Sub", both, g.op("Mul", negative, c.number("sixteen", 16.0)))


class Qdq:
    """The form; rows stand first where they are looked up only, then 4-bit codes stand two to a byte."""

    def emit(self, c: GraphContext, name: str, parts: Sequence[StoredRows], gathered: bool) -> QdqMatrix:
        """Initializers of one matrix."""
        layout, made = whole_layout(parts), self._emit(c, name, parts, gathered)
        first_row = 0
        for part in parts:
            size = int(part.layout.rows / layout.rows * made.nbytes)
            part.record.place(_form(layout), size, stored_as=name, first_row=first_row, rows_first=gathered)
            first_row += part.layout.rows
        return made

    def emit_experts(self, c: GraphContext, name: str, parts: Sequence[Parts]) -> ExpertStack:
        """A matrix for each expert."""
        made: list[QdqMatrix] = []

        def emit(stem: str, own: Parts) -> QdqMatrix:
            made.append(self._emit(c, stem, own, gathered=False))
            return made[-1]

        stack = emit_each(c, name, parts, emit)
        total = sum(matrix.nbytes for matrix in made) + (0 if stack.offset is None else stack.offset.nbytes)
        place_stack(name, parts, _form(whole_layout(parts[0])), total, rows_first=False)
        return stack

    def emit_beside(self, c: GraphContext, name: str, parts: Sequence[StoredRows]) -> SelectableMatrix:
        """Runtimes fuse no matrix that is cut at run time: it would be dequantized as a whole, for every token."""
        raise MobiusError(
            f"{parts[0].record.name}: experts behind DequantizeLinear cannot be gathered",
            "take --quant-format matmulnbits, or leave it out",
        )

    def _emit(self, c: GraphContext, name: str, parts: Sequence[StoredRows], gathered: bool) -> QdqMatrix:
        g, dtype, layout = c.graph, c.target.dtype, whole_layout(parts)
        turn = 1 if gathered else -1
        shape = (layout.rows, layout.block_shape.blocks)[::turn]

        def stored(make: Make) -> InPieces:
            return upright(parts, make) if gathered else turned(parts, make, layout.block_size)

        size = (layout.rows, layout.columns)[::turn]
        kind = f"int{layout.bits}"
        if gathered and layout.bits == 4:
            kind, size = "uint8", (layout.rows, layout.columns // 2)
        codes = g.initializer(f"{name}.codes", kind, size, _signed(parts, layout, gathered))
        scale = g.initializer(f"{name}.scale", dtype, shape, stored(pieces.scale(dtype)))
        offset = None
        if layout.has_offset:
            offset = g.initializer(f"{name}.offset", dtype, shape, stored(pieces.offset(dtype)))
        zeros = None
        if layout.zero_points:
            kind = "int8" if gathered else f"int{layout.bits}"
            zeros = g.initializer(f"{name}.zero_points", kind, shape, partial(_signed_zeros, parts, layout, gathered))
        return QdqMatrix(layout, gathered, codes, scale, offset, zeros)

    def read_back(
        self,
        array: Callable[[str], npt.NDArray[Any]],
        layout: Layout,
        record: TensorRecord,
        expert: int | None = None,
    ) -> BlockMatrix:
        """DequantizeLinear's inputs of a folder."""
        stem, offset = expert_stem(record.stored_as, expert), None
        if layout.has_offset:
            stored = array(f"{record.stored_as}.offset")
            offset = stored if expert is None else stored[expert]
        codes, scale = array(f"{stem}.codes"), array(f"{stem}.scale")
        zeros = None
        if layout.zero_points:
            signed = array(f"{stem}.zero_points").reshape(-1).view(np.uint8)
            packed = layout.bits == 4 and not record.rows_first
            numbers = pair_unpack(signed)[: scale.size] if packed else signed & np.uint8((1 << layout.bits) - 1)
            zeros = (numbers ^ np.uint8(1 << (layout.bits - 1))).reshape(scale.shape)
        return _QdqRows(
            layout, record.first_row, codes, scale, offset, not record.rows_first, all_zeros=zeros,
            order=stored_order(record, array), width=layout.columns,
        )  # fmt: skip


def _form(layout: Layout) -> str:
    """For the records."""
    correction = " + offset" if layout.has_offset else " + zero points" if layout.zero_points else ""
    return f"int{layout.bits}, block {layout.block_size}{correction}"


def _signed_zeros(parts: Sequence[StoredRows], layout: Layout, rows_first: bool) -> npt.NDArray[Any]:
    """Zero points minus 2^(bits - 1): int8, with their rows first; else transposed, of 4 bits two to a byte."""
    found = [part.matrix().zero_points() for part in parts]
    whole = joined(zeros for zeros in found if zeros is not None)
    if rows_first:
        return (whole.astype(np.int16) - (1 << (layout.bits - 1))).astype(np.int8)
    centred = np.ascontiguousarray((whole ^ np.uint8(1 << (layout.bits - 1))).T)
    return centred.view(np.int8) if layout.bits == 8 else pair_pack(np.pad(centred.reshape(-1), (0, centred.size % 2)))


def _signed(parts: Sequence[StoredRows], layout: Layout, rows_first: bool) -> InPieces:
    """Codes minus 2^(bits - 1), mostly transposed: int8, or nibbles two to a byte."""

    def stored(centred: U8) -> npt.NDArray[Any]:
        return pair_pack(centred.reshape(-1)) if layout.bits == 4 else centred.view(np.int8)

    if rows_first:
        return upright(parts, lambda matrix, _: stored(_centred(matrix)))
    whole = turned(parts, lambda matrix, _: _centred(matrix), 1)
    return replace(whole, between=lambda first, end: stored(whole.between(first, end)))


def _centred(matrix: BlockMatrix) -> U8:
    """Codes minus 2^(bits - 1), one to a byte: uint8 [rows, columns]."""
    layout, codes = matrix.layout, matrix.codes()
    numbers = pair_unpack(codes) if layout.bits == 4 else codes
    return (numbers ^ np.uint8(1 << (layout.bits - 1))).reshape(layout.rows, layout.columns)


@dataclass(frozen=True)
class _QdqRows(FolderRows):
    """`all_codes`: uint8 [all] for 4 bits, two to a byte, else int8, in the order in which the graph has them.

    `width`: columns of the whole matrix.
    """

    width: int = 0

    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""
        layout, first = self.layout, (self.first_row, self.first_column)
        rows, columns = slice(first[0], first[0] + layout.rows), slice(first[1], first[1] + layout.columns)
        found = self._numbers(columns, rows).T if self.turned else self._numbers(rows, columns)
        centred = np.ascontiguousarray(found) ^ np.uint8(1 << (layout.bits - 1))
        blocks = centred.reshape(layout.rows, layout.block_shape.blocks, layout.block_size)
        return pair_pack(blocks) if layout.bits == 4 else blocks

    def _numbers(self, along: slice, across: slice) -> U8:
        """Signed codes of a part of the matrix as it stands, one to a byte."""
        if self.layout.bits == 8:
            return self.all_codes.view(np.uint8)[along, across]
        flat = self.all_codes.reshape(-1)
        length = 2 * flat.size // self.width if self.turned else self.width
        if length % 2:  # lines begin within a byte, but blocks of lines do not
            lines = flat[along.start * length // 2 : along.stop * length // 2]
            return pair_unpack(lines).reshape(-1, length)[:, across]
        first, count = across.start % 2, across.stop - across.start
        pairs = flat.reshape(-1, length // 2)[along, across.start // 2 : (across.stop + 1) // 2]
        return pair_unpack(pairs)[:, first : first + count]
