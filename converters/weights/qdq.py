"""Standard ONNX: DequantizeLinear over blocks of a transposed matrix, which runtimes fuse with the MatMul behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.weights.matrix import FolderRows, StoredRows, block_sums, joined, offsets, scales, whole_layout
from converters.weights.records import TensorRecord
from repack.bits import U8, pair_pack, pair_unpack
from repack.block_quantized import BlockMatrix, Layout

BLOCK_AXIS = 0  # of [columns, rows]: the one layout in which ONNX Runtime finds its fast product


@dataclass(frozen=True)
class QdqMatrix:
    """Signed `codes` [columns, rows], `scale` and `offset` [blocks, rows]; or all with their rows first."""

    layout: Layout
    rows_first: bool
    codes: Value
    scale: Value
    offset: Value | None

    def product(self, c: GraphContext, x: Value) -> Value:
        """MatMul with the dequantized matrix, and the offsets times the sums of x over blocks."""
        assert not self.rows_first
        size = self.layout.block_size
        weight = c.graph.op("DequantizeLinear", self.codes, self.scale, axis=BLOCK_AXIS, block_size=size)
        y = c.graph.op("MatMul", x, weight)
        if self.offset is None:
            return y
        return c.graph.op("Add", y, c.graph.op("MatMul", block_sums(c, x, self.layout), self.offset))

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
        g, dtype, layout = c.graph, c.target.dtype, whole_layout(parts)
        turn = 1 if gathered else -1
        shape = (layout.rows, layout.block_shape.blocks)[::turn]

        def stored(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            return values if gathered else np.ascontiguousarray(values.T)

        size = (layout.rows, layout.columns)[::turn]
        kind = f"int{layout.bits}"
        if gathered and layout.bits == 4:
            kind, size = "uint8", (layout.rows, layout.columns // 2)
        codes = g.initializer(f"{name}.codes", kind, size, lambda: _signed(parts, layout, gathered))
        scale = g.initializer(f"{name}.scale", dtype, shape, lambda: stored(scales(parts, dtype)))
        offset = None
        if layout.has_offset:
            offset = g.initializer(f"{name}.offset", dtype, shape, lambda: stored(offsets(parts, dtype)))
        total, first_row = sum(v.nbytes for v in (codes, scale, offset) if v is not None), 0
        for part in parts:
            correction = " + offset" if layout.has_offset else ""
            form, share = f"int{layout.bits}, block {layout.block_size}{correction}", part.layout.rows / layout.rows
            part.record.place(form, int(share * total), stored_as=name, first_row=first_row, rows_first=gathered)
            first_row += part.layout.rows
        return QdqMatrix(layout, gathered, codes, scale, offset)

    def read_back(
        self, array: Callable[[str], npt.NDArray[Any]], stem: str, layout: Layout, record: TensorRecord
    ) -> BlockMatrix:
        """DequantizeLinear's inputs of a folder."""
        offset = array(f"{stem}.offset") if layout.has_offset else None
        codes, scale = array(f"{stem}.codes"), array(f"{stem}.scale")
        return _QdqRows(layout, record.first_row, codes, scale, offset, turned=not record.rows_first)


def _signed(parts: Sequence[StoredRows], layout: Layout, rows_first: bool) -> U8 | npt.NDArray[np.int8]:
    """Codes minus 2^(bits - 1), mostly transposed: int8, or nibbles two to a byte."""
    codes = joined(part.matrix().codes() for part in parts)
    numbers = pair_unpack(codes) if layout.bits == 4 else codes
    middle = np.uint8(1 << (layout.bits - 1))
    upright = (numbers ^ middle).reshape(layout.rows, layout.columns)
    centred = np.ascontiguousarray(upright if rows_first else upright.T)
    return pair_pack(centred.reshape(-1)) if layout.bits == 4 else centred.view(np.int8)


@dataclass(frozen=True)
class _QdqRows(FolderRows):
    """`all_codes`: uint8 [all] for 4 bits, two to a byte, else int8, in the order in which the graph has them."""

    def codes(self) -> U8:
        """uint8 [rows, blocks, block_size * bits / 8]."""
        layout = self.layout
        four = layout.bits == 4
        numbers = pair_unpack(self.all_codes.reshape(-1)) if four else self.all_codes.view(np.uint8)
        standing = numbers.reshape((layout.columns, -1) if self.turned else (-1, layout.columns))
        centred = np.ascontiguousarray(self.own(standing)) ^ np.uint8(1 << (layout.bits - 1))
        blocks = centred.reshape(layout.rows, layout.block_shape.blocks, layout.block_size)
        return pair_pack(blocks) if four else blocks
