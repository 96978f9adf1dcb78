"""The decoders' array operations, recorded as ONNX nodes that ONNX Runtime folds when a session starts."""

import math
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.graph import Graph, Value


class Recorder:
    """Implements `repack.ops.Ops` over graph values; `real` is the type of scales and offsets."""

    def __init__(self, graph: Graph, real: str) -> None:
        self._graph, self._real = graph, real
        self._taken: set[Value] = set()  # initializers that a node has read in the shape they have

    def reshape(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Reshape; a plane that no node has taken yet is simply stored in the new shape."""
        if x.compute is not None and x.shape is not None and x not in self._taken:
            size, known = math.prod(int(n) for n in x.shape), math.prod(n for n in shape if n >= 0)
            x.shape = tuple(size // known if n < 0 else n for n in shape)
            return x
        return self._graph.op("Reshape", x, self._graph.ints(*shape))

    def to_uint8(self, x: Value) -> Value:
        """Cast to uint8."""
        return self._cast(x, "uint8")

    def to_float(self, x: Value) -> Value:
        """Cast to float32, in which products of stored numbers are exact."""
        return self._cast(x, "float32")

    def bit_or(self, x: Value, y: Value) -> Value:
        """BitwiseOr."""
        return self._binary("BitwiseOr", x, y)

    def add(self, x: Value, y: Value) -> Value:
        """Add."""
        return self._binary("Add", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        """Sub."""
        return self._binary("Sub", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        """Mul."""
        return self._binary("Mul", x, y)

    def times(self, x: Value, factor: float) -> Value:
        """Mul with a constant."""
        return self.mul(x, self._graph.constant(f"factor_{factor:g}", np.array(factor, np.float32)))

    def plus(self, x: Value, term: float) -> Value:
        """Add of a constant."""
        return self.add(x, self._graph.constant(f"term_{term:g}", np.array(term, np.float32)))

    def bit_xor(self, x: Value, y: Value) -> Value:
        """BitwiseXor."""
        return self._binary("BitwiseXor", x, y)

    def gather(self, table: npt.NDArray[Any], index: Value) -> Value:
        """Gather rows of a table, stored once; ONNX wants int32 or int64 indices."""
        rows = self._graph.constant(f"table_{zlib.crc32(table.tobytes()):08x}", table)
        if index.dtype != "int32":
            index = self._cast(index, "int32")
        return self._graph.op("Gather", rows, index, axis=0)

    def wide_index(self, low: Value, high: Value) -> Value:
        """Cast, Mul and Add in int32."""
        shift = self._graph.constant("index_256", np.array(256, np.int32))
        index = self.add(self._cast(low, "int32"), self.mul(self._cast(high, "int32"), shift))
        index.dtype = "int32"
        return index

    def first(self, x: Value, count: int) -> Value:
        """Slice along the last axis."""
        ints = self._graph.ints
        return self._graph.op("Slice", x, ints(0), ints(count), ints(-1))

    def pairs(self, x: Value) -> Value:
        """Two strided Slices, the second shifted by a Mul, joined by BitwiseOr."""
        ints = self._graph.ints
        even, odd = (self._graph.op("Slice", x, ints(i), ints(2**31 - 1), ints(-1), ints(2)) for i in (0, 1))
        return self.bit_or(even, self.mul(odd, self._graph.constant("nibble_16", np.array(16, np.uint8))))

    def codes(self, x: Value) -> Value:
        """Codes as a derived value, as their scales are; see `converters.weights.nbits_matrix`."""
        return x if x.derived else self._graph.op("Identity", x)

    def finish(self, x: Value) -> Value:
        """Scales or offsets in the graph's activation type."""
        return x if self._real == "float32" else self._graph.cast(x, self._real)

    def _cast(self, x: Value, dtype: str) -> Value:
        self._taken.add(x)
        return self._graph.cast(x, dtype)

    def _binary(self, op_type: str, x: Value, y: Value) -> Value:
        self._taken.update((x, y))
        return self._graph.op(op_type, x, y)
