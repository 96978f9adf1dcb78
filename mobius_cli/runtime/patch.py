"""Changes to a folder's graph in memory, for runs that want less or more of it; the weights stay where they are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from converters.graph.routers import RouterRecord
from converters.weights.nbits_matrix import set_accuracy_level
from mobius_cli.runtime.open_router import forced_input, open_router


def patched(
    path: Path,
    *,
    accuracy_level: int | None = None,
    last_of: str | None = None,
    routers: Sequence[RouterRecord] | None = None,
) -> bytes:
    """A graph, without its external data, as bytes.

    Args:
        path: the graph's file.
        accuracy_level: replaces that of every MatMulNBits node.
        last_of: the hidden states of which only the last position reaches the head: logits [batch, 1, vocabulary].
        routers: whose tensors become outputs, and whose choices an input can replace.
    """
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    if accuracy_level is not None:
        set_accuracy_level(model, accuracy_level)
    if last_of is not None:
        _keep_last(model, last_of, onnx)
    for index, router in enumerate(routers or ()):
        open_router(model.graph, router, forced_input(index), onnx)
    serialized: bytes = model.SerializeToString()
    return serialized


def _keep_last(model: Any, hidden: str, onnx: Any) -> None:
    """Gather the last position of the hidden states in front of the head."""
    graph, last = model.graph, "last_hidden"
    readers = [index for index, node in enumerate(graph.node) if hidden in node.input]
    assert readers, f"nothing reads {hidden}"
    for index in readers:
        node = graph.node[index]
        node.input[:] = [last if name == hidden else name for name in node.input]
    graph.initializer.append(onnx.helper.make_tensor("last_position", onnx.TensorProto.INT64, [1], [-1]))
    gather = onnx.helper.make_node("Gather", [hidden, "last_position"], [last], name=last, axis=1)
    graph.node.insert(readers[0], gather)
    logits = next(output for output in graph.output if output.name == "logits")
    logits.type.tensor_type.shape.dim[1].Clear()
    logits.type.tensor_type.shape.dim[1].dim_value = 1
