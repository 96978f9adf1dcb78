"""A thin layer over onnx_ir: nodes by name, constants once, weights written lazily."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

MICROSOFT = "com.microsoft"
OPSET = 21  # first with 4-bit Cast and blocked DequantizeLinear; onnxruntime-genai writes the same
IR_VERSION = 10
DTYPES = {
    "float32": ir.DataType.FLOAT,
    "float16": ir.DataType.FLOAT16,
    "bfloat16": ir.DataType.BFLOAT16,
    "uint8": ir.DataType.UINT8,
    "int8": ir.DataType.INT8,
    "uint4": ir.DataType.UINT4,
    "int32": ir.DataType.INT32,
    "int64": ir.DataType.INT64,
    "float64": ir.DataType.DOUBLE,
}


class Graph:
    """Nodes, initializers, inputs and outputs of the model under construction."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[ir.Value] = []
        self.outputs: list[ir.Value] = []
        self.initializers: dict[str, ir.Value] = {}
        self.nodes: list[ir.Node] = []
        self._scope: list[str] = []
        self._taken: dict[str, int] = {}

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Prefix the names of nodes made inside."""
        self._scope.append(name)
        try:
            yield
        finally:
            self._scope.pop()

    def op(
        self,
        op_type: str,
        *inputs: ir.Value | None,
        domain: str = "",
        outputs: int = 1,
        name: str = "",
        **attributes: Any,
    ) -> Any:
        """Add a node; returns its output, or a tuple when `outputs` > 1."""
        label = self._unique("/".join([*self._scope, *([name] if name else []), op_type]))
        node = ir.node(op_type, inputs, attributes, domain=domain, num_outputs=outputs, name=label)
        for index, value in enumerate(node.outputs):
            value.name = f"{label}/output_{index}"
        self.nodes.append(node)
        return node.outputs[0] if outputs == 1 else tuple(node.outputs)

    def _unique(self, name: str) -> str:
        count = self._taken.get(name, 0)
        self._taken[name] = count + 1
        return name if not count else f"{name}_{count}"

    def initializer(
        self,
        name: str,
        dtype: str,
        shape: Sequence[int],
        compute: Callable[[], npt.NDArray[Any]],
    ) -> ir.Value:
        """A weight, computed when the file is written.

        `compute` returns an array of `dtype`; for "uint4" two values to a byte, for "bfloat16" uint16 bits.
        """
        onnx_type = DTYPES[dtype]
        size = tuple(int(n) for n in shape)

        def make() -> ir.TensorProtocol:
            array = np.ascontiguousarray(compute())
            if dtype == "uint4":
                return ir.PackedTensor(array.reshape(-1), onnx_type, shape=size, name=name)
            return ir.Tensor(array.reshape(size), onnx_type, name=name)

        lazy = ir.LazyTensor(make, onnx_type, ir.Shape(size), name=name)
        return self._register(name, onnx_type, size, lazy)

    def constant(self, name: str, value: npt.NDArray[Any]) -> ir.Value:
        """A small array, stored once per name."""
        if name in self.initializers:
            return self.initializers[name]
        tensor = ir.Tensor(value, name=name)
        return self._register(name, tensor.dtype, value.shape, tensor)

    def ints(self, *values: int) -> ir.Value:
        """An int64 vector such as a shape, stored once."""
        name = "ints_" + "_".join(str(v).replace("-", "m") for v in values)
        return self.constant(name, np.array(values, np.int64))

    def _register(self, name: str, dtype: ir.DataType, shape: tuple[int, ...], tensor: ir.TensorProtocol) -> ir.Value:
        assert name not in self.initializers, name
        value = ir.Value(name=name, type=ir.TensorType(dtype), shape=ir.Shape(shape), const_value=tensor)
        self.initializers[name] = value
        return value

    def input(self, name: str, dtype: str, shape: Sequence[int | str]) -> ir.Value:
        """A graph input."""
        value = ir.Value(name=name, type=ir.TensorType(DTYPES[dtype]), shape=ir.Shape(shape))
        self.inputs.append(value)
        return value

    def output(self, value: ir.Value, name: str, dtype: str, shape: Sequence[int | str]) -> None:
        """Make a value a graph output under the given name."""
        value.name = name
        value.type = ir.TensorType(DTYPES[dtype])
        value.shape = ir.Shape(shape)
        self.outputs.append(value)

    def cast(self, value: ir.Value, dtype: str, name: str = "") -> ir.Value:
        """A Cast node."""
        result: ir.Value = self.op("Cast", value, name=name, to=DTYPES[dtype].value)
        return result

    def is_plain(self, value: ir.Value) -> bool:
        """Whether the value is an initializer, not the result of a node."""
        return value.producer() is None

    def model(self, metadata: dict[str, str], producer: str, version: str) -> ir.Model:
        """The finished model."""
        graph = ir.Graph(
            self.inputs,
            self.outputs,
            nodes=self.nodes,
            initializers=tuple(self.initializers.values()),
            opset_imports={"": OPSET, MICROSOFT: 1},
            name=self.name,
        )
        return ir.Model(
            graph,
            ir_version=IR_VERSION,
            producer_name=producer,
            producer_version=version,
            metadata_props=metadata,
        )
