"""The decoders' array operations, recorded as ONNX nodes that ONNX Runtime folds when a session starts."""

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

    def gather(self, table: npt.NDArray[np.uint8], index: ir.Value) -> ir.Value:
        """Gather rows of a table; ONNX wants int32 or int64 indices."""
        name = f"table_{table.tobytes()[:16].hex()}_{table.shape[1]}"
        rows = self._graph.constant(name, table)
        result: ir.Value = self._graph.op("Gather", rows, self._graph.cast(index, "int32"), axis=0)
        return result

    def finish(self, x: ir.Value) -> ir.Value:
        """Scales or offsets in the graph's activation type."""
        return x if self._real == "float32" else self._graph.cast(x, self._real)

    def _binary(self, op_type: str, x: Any, y: Any) -> ir.Value:
        result: ir.Value = self._graph.op(op_type, x, y)
        return result
