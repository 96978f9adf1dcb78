"""Writes a finished graph as an ONNX file with external data, reading each weight when its turn comes."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import onnx_ir as ir

from converters.folder.layout import FLAT, GraphFiles
from converters.folder.stream_hash import StreamHash
from converters.folder.writer import OnTensor
from converters.graph.graph import DTYPES, Body, Graph, Node, Value

if TYPE_CHECKING:
    import onnx

IR_VERSIONS = {21: 10, 23: 11}  # by opset: the one that came with it
IR_VERSION_E8M0 = 12  # the first with that type
EMBEDDED_BYTES = 1024  # initializers up to this size stay in the graph's file, where shape inference can read them


def write_graph(
    graph: Graph,
    folder: Path,
    metadata: dict[str, str],
    producer: tuple[str, str],
    on_tensor: OnTensor | None = None,
    files: GraphFiles = FLAT,
) -> str:
    """Write the graph and its external data into an existing folder, under the names of `files`; SHA-256 of the data.

    `producer` is a name and a version. Weights are computed one at a time; what they raise is passed on. `on_tensor` is
    called before each of them and at the end: its bytes are those of all initializers together.
    """
    hashing = StreamHash()
    _save(graph, folder, metadata, producer, on_tensor, files, hashing)
    return hashing.of(folder / files.data)


def _save(
    graph: Graph,
    folder: Path,
    metadata: dict[str, str],
    producer: tuple[str, str],
    on_tensor: OnTensor | None,
    files: GraphFiles,
    hashing: StreamHash,
) -> None:
    model = ir.Model(
        _graph(graph, lambda value: _tensor(value, hashing)),
        ir_version=_ir_version(graph),
        producer_name=producer[0],
        producer_version=producer[1],
        metadata_props=metadata,
    )

    sizes = [value.nbytes for value in graph.initializers.values()]
    written = sum(size for size in sizes if size <= EMBEDDED_BYTES)

    def callback(tensor: ir.TensorProtocol, _info: object) -> None:
        nonlocal written
        if on_tensor is not None:
            on_tensor(tensor.name or "", written)
        written = tensor.nbytes

    path, data = folder / files.model, Path(files.data).name
    path.parent.mkdir(exist_ok=True)
    try:
        ir.save(model, path, external_data=data, size_threshold_bytes=EMBEDDED_BYTES, callback=callback)
    except ir.serde.SerdeError as error:  # onnx_ir's wrapping of what an embedded weight raised
        raise _innermost(error) from error
    if on_tensor is not None:
        on_tensor("", written)


def proto_without_weights(graph: Graph, files: GraphFiles = FLAT) -> "onnx.ModelProto":
    """The graph as `write_graph` writes it, but for the place and contents of its initializers, and who wrote it."""
    data = Path(files.data).name

    def named(value: Value) -> ir.TensorProtocol:
        shape = ir.Shape(tuple(int(n) for n in value.shape or ()))
        return ir.ExternalTensor(data, 0, value.nbytes, _dtype(value), shape=shape, name=value.name)

    return ir.to_proto(ir.Model(_graph(graph, named), ir_version=_ir_version(graph)))


def _ir_version(graph: Graph) -> int:
    scales = "float8e8m0" in {value.dtype for value in graph.initializers.values()}
    return IR_VERSION_E8M0 if scales else IR_VERSIONS[graph.opset]


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _graph(graph: Graph, tensor: Callable[[Value], ir.TensorProtocol]) -> ir.Graph:
    values: dict[Value, ir.Value] = {}

    def edge(value: Value) -> ir.Value:
        if value not in values:
            typed = ir.TensorType(_dtype(value)) if value.dtype and value.shape is not None else None
            shape = ir.Shape(value.shape) if typed and value.shape is not None else None
            const = tensor(value) if value.compute is not None else None
            values[value] = ir.Value(name=value.name, type=typed, shape=shape, const_value=const)
        return values[value]

    def made(node: Node) -> ir.Node:
        attributes = {key: inner(value) if isinstance(value, Body) else value for key, value in node.attributes.items()}
        inputs = [None if value is None else edge(value) for value in node.inputs]
        outputs = [edge(value) for value in node.outputs]
        return ir.node(node.op_type, inputs, attributes, domain=node.domain, outputs=outputs, name=node.name)

    def inner(body: Body) -> ir.Graph:
        inputs, outputs = [edge(value) for value in body.inputs], [edge(value) for value in body.outputs]
        return ir.Graph(inputs, outputs, nodes=[made(node) for node in body.nodes], name=body.name)

    return ir.Graph(
        [edge(value) for value in graph.inputs],
        [edge(value) for value in graph.outputs],
        nodes=[made(node) for node in graph.nodes],
        initializers=tuple(edge(value) for value in graph.initializers.values()),
        opset_imports={"": graph.opset, **{node.domain: 1 for node in graph.nodes if node.domain}},
        name=graph.name,
    )


def _dtype(value: Value) -> ir.DataType:
    assert value.dtype is not None
    return ir.DataType(DTYPES[value.dtype][1])


def _tensor(value: Value, hashing: StreamHash) -> ir.LazyTensor:
    size = tuple(int(n) for n in value.shape or ())
    compute, onnx_type = value.compute, _dtype(value)
    assert compute is not None

    def make() -> ir.TensorProtocol:
        array = np.ascontiguousarray(compute())
        if onnx_type in (ir.DataType.UINT4, ir.DataType.INT4):
            return ir.PackedTensor(array.reshape(-1), onnx_type, shape=size, name=value.name)
        return ir.Tensor(array.reshape(size), onnx_type, name=value.name)

    return _Pieces(value, hashing, make, onnx_type, ir.Shape(size), name=value.name)


class _Pieces(ir.LazyTensor):
    """A weight that goes to the file as it is computed."""

    def __init__(self, value: Value, hashing: StreamHash, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._value, self._hashing = value, hashing

    def tofile(self, file: BinaryIO) -> None:
        """Write all bytes."""
        for piece in self._value.pieces():
            raw = np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data
            self._hashing.feed(file.tell(), raw)
            file.write(raw)
