"""The decoders' array operations, recorded as ONNX nodes that ONNX Runtime folds when a session starts."""

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from converters.graph import Graph


class Recorder:
    """Implements `repack.ops.Ops` over graph values; `real` is the type of scales and offsets."""

    def __init__(self, graph: Graph, real: str) -> None:
        self._graph, self._real = graph, real

    def reshape(self, x: ir.Value, shape: tuple[int, ...]) -> ir.Value:
        """Reshape."""
        result: ir.Value = self._graph.op("Reshape", x, self._graph.ints(*shape))
        return result

    def to_uint8(self, x: ir.Value) -> ir.Value:
        """Cast to uint8."""
        return self._graph.cast(x, "uint8")

    def to_float(self, x: ir.Value) -> ir.Value:
        """Cast to float32, in which products of stored numbers are exact."""
        return self._graph.cast(x, "float32")

    def bit_or(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """BitwiseOr."""
        return self._binary("BitwiseOr", x, y)

    def add(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Add."""
        return self._binary("Add", x, y)

    def sub(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Sub."""
        return self._binary("Sub", x, y)

    def mul(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """Mul."""
        return self._binary("Mul", x, y)

    def times(self, x: ir.Value, factor: float) -> ir.Value:
        """Mul with a constant."""
        return self.mul(x, self._graph.constant(f"factor_{factor:g}", np.array(factor, np.float32)))

    def plus(self, x: ir.Value, term: float) -> ir.Value:
        """Add of a constant."""
        return self.add(x, self._graph.constant(f"term_{term:g}", np.array(term, np.float32)))

    def bit_xor(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """BitwiseXor."""
        return self._binary("BitwiseXor", x, y)

    def flip(self, x: ir.Value, mask: int) -> ir.Value:
        """BitwiseXor with a constant."""
        return self.bit_xor(x, self._graph.constant(f"mask_{mask}", np.array(mask, np.uint8)))

    def gather(self, table: npt.NDArray[Any], index: ir.Value) -> ir.Value:
        """Gather rows of a table, stored once; ONNX wants int32 or int64 indices."""
        rows = self._graph.constant(f"table_{zlib.crc32(table.tobytes()):08x}", table)
        if index.type is None or index.type.dtype != ir.DataType.INT32:
            index = self._graph.cast(index, "int32")
        result: ir.Value = self._graph.op("Gather", rows, index, axis=0)
        return result

    def wide_index(self, low: ir.Value, high: ir.Value) -> ir.Value:
        """Cast, Mul and Add in int32."""
        shift = self._graph.constant("index_256", np.array(256, np.int32))
        index = self.add(self._graph.cast(low, "int32"), self.mul(self._graph.cast(high, "int32"), shift))
        index.type = ir.TensorType(ir.DataType.INT32)
        return index

    def first(self, x: ir.Value, count: int) -> ir.Value:
        """Slice along the last axis."""
        ints = self._graph.ints
        result: ir.Value = self._graph.op("Slice", x, ints(0), ints(count), ints(-1))
        return result

    def pairs(self, x: ir.Value) -> ir.Value:
        """Two strided Slices, the second shifted by a Mul, joined by BitwiseOr."""
        ints = self._graph.ints
        even, odd = (self._graph.op("Slice", x, ints(i), ints(2**31 - 1), ints(-1), ints(2)) for i in (0, 1))
        return self.bit_or(even, self.mul(odd, self._graph.constant("nibble_16", np.array(16, np.uint8))))

    def finish(self, x: ir.Value) -> ir.Value:
        """Scales or offsets in the graph's activation type."""
        return x if self._real == "float32" else self._graph.cast(x, self._real)

    def _binary(self, op_type: str, x: Any, y: Any) -> ir.Value:
        result: ir.Value = self._graph.op(op_type, x, y)
        return result
