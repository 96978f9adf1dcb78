"""A matrix as ONNX Runtime's MatMulNBits takes it, and one correction for types with an offset."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from converters.graph.context import GraphContext
from converters.graph.graph import MICROSOFT, Value
from converters.weights.matrix import band, block_sums
from repack.block_quantized import Layout

OPERATOR, LEVEL = "MatMulNBits", "accuracy_level"
# The same for the products that ONNX Runtime makes of DequantizeLinear and MatMul: a setting of the session.
QDQ_LEVEL = "session.qdq_matmulnbits_accuracy_level"
ZERO_POINT_BYTES = {4: 0x88, 8: 0x80}


@dataclass(frozen=True)
class NBitsMatrix:
    """`codes` uint8 [rows, blocks, bytes], `scale` and `offset` [rows, blocks], `zeros` uint8 [rows, bytes].

    Either `codes` and `scale` are both initializers or both computed by nodes: ONNX Runtime's x64 kernel
    gives wrong results without an error when it packs constant codes beside scales that are not constant.
    """

    layout: Layout
    codes: Value
    scale: Value
    offset: Value | None
    zeros: Value | None = None

    def __post_init__(self) -> None:
        same = self.codes.derived == self.scale.derived
        assert same, f"{self.codes.name}: constant codes beside derived scales give wrong results"

    def product(self, c: GraphContext, x: Value) -> Value:
        """MatMulNBits, and the offsets times the sums of x over blocks."""
        layout = self.layout
        y = c.graph.op(
            OPERATOR, x, self.codes, self.scale, *(() if self.zeros is None else (self.zeros,)),
            domain=MICROSOFT, K=layout.columns, N=layout.rows, bits=layout.bits, block_size=layout.block_size,
            accuracy_level=c.target.accuracy_level,
        )  # fmt: skip
        if self.offset is None:
            return y
        correction = c.operators.matmul_transposed(c, block_sums(c, x, layout), self.offset)
        return c.graph.op("Add", y, correction)

    def gather(self, c: GraphContext, index: Value) -> Value:
        """GatherBlockQuantized; the offset, where there is one, is added per block."""
        layout, g = self.layout, c.graph
        flat = g.op("Reshape", self.codes, g.ints(layout.rows, layout.code_bytes))
        x = g.op(
            "GatherBlockQuantized", flat, index, self.scale, self.zeros or self._zero_points(c),
            domain=MICROSOFT, bits=layout.bits, block_size=layout.block_size, gather_axis=0, quantize_axis=1,
        )  # fmt: skip
        if self.offset is None:
            return x
        offset = g.op("Gather", self.offset, index, axis=0)
        blocks = g.op("Reshape", x, g.ints(0, 0, layout.block_shape.blocks, layout.block_size))
        summed = g.op("Add", blocks, g.op("Unsqueeze", offset, g.ints(-1)))
        return g.op("Reshape", summed, g.ints(0, 0, layout.columns))

    def rows_of(self, c: GraphContext, index: Value, count: int, width: int) -> "NBitsMatrix":
        """Bands of rows."""
        return self._cut(c, band(c, index, width), 0, replace(self.layout, rows=count * width))

    def columns_of(self, c: GraphContext, index: Value, count: int, width: int) -> "NBitsMatrix":
        """Bands of columns."""
        assert self.zeros is None, "zero points of several blocks stand in one byte"
        blocks = width // self.layout.block_size
        return self._cut(c, band(c, index, blocks), 1, replace(self.layout, columns=count * width))

    def _cut(self, c: GraphContext, elements: Value, axis: int, layout: Layout) -> "NBitsMatrix":
        codes, scale = (c.graph.op("Gather", stored, elements, axis=axis) for stored in (self.codes, self.scale))
        offset, zeros = (
            None if stored is None else c.graph.op("Gather", stored, elements, axis=axis)
            for stored in (self.offset, self.zeros)
        )
        return NBitsMatrix(layout, codes, scale, offset, zeros)

    def _zero_points(self, c: GraphContext) -> Value:
        """The implicit zero point written out, since execution providers disagree on the default; one byte stored.

        Rows are padded to whole bytes, as the operator demands.
        """
        layout = self.layout
        byte = np.array([[ZERO_POINT_BYTES[layout.bits]]], np.uint8)
        stored = c.graph.constant(f"zero_point_{layout.bits}", byte)
        return c.graph.op("Expand", stored, c.graph.ints(layout.rows, zero_point_bytes(layout)))


def zero_point_bytes(layout: Layout) -> int:
    """Of one row's zero points."""
    return -(-layout.block_shape.blocks * layout.bits // 8)


def set_accuracy_level(model: Any, level: int) -> None:
    """Replace the level of every product in an ONNX model (a ModelProto): 4 for int8 activations, 0 for float ones."""
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == OPERATOR and attribute.name == LEVEL:
                attribute.i = level
