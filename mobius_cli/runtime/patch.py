"""Changes to a folder's graph in memory, for runs that want less or more of it; the weights stay where they are."""

from pathlib import Path
from typing import Any

HEAD = "model/lm_head/"  # scope of the nodes that turn hidden states into logits
TAKES_HIDDEN = ("MatMulNBits", "FusedMatMul", "MatMul", "Reshape")  # what reads the hidden state there, as first input


def patched(path: Path, *, accuracy_level: int | None = None, last_logits: bool = False) -> bytes:
    """The graph of model.onnx, without its external data, as bytes.

    Args:
        path: the model.
        accuracy_level: replaces that of every MatMulNBits node.
        last_logits: compute logits of the last position only, [batch, 1, vocabulary].
    """
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    if accuracy_level is not None:
        for node in model.graph.node:
            for attribute in node.attribute:
                if node.op_type == "MatMulNBits" and attribute.name == "accuracy_level":
                    attribute.i = accuracy_level
    if last_logits:
        _keep_last(model, onnx)
    serialized: bytes = model.SerializeToString()
    return serialized


def _keep_last(model: Any, onnx: Any) -> None:
    """Gather the last position of the hidden state in front of the head."""
    graph = model.graph
    made_in_head = {name for node in graph.node if node.name.startswith(HEAD) for name in node.output}
    readers = [
        node
        for node in graph.node
        if node.name.startswith(HEAD) and node.op_type in TAKES_HIDDEN and node.input[0] not in made_in_head
    ]
    (hidden,) = {node.input[0] for node in readers}
    for node in readers:
        node.input[0] = "last_hidden"
    graph.initializer.append(onnx.helper.make_tensor("last_position", onnx.TensorProto.INT64, [1], [-1]))
    gather = onnx.helper.make_node("Gather", [hidden, "last_position"], ["last_hidden"], name="last_hidden", axis=1)
    first = next(i for i, node in enumerate(graph.node) if node.name.startswith(HEAD))
    graph.node.insert(first, gather)
    logits = next(output for output in graph.output if output.name == "logits")
    logits.type.tensor_type.shape.dim[1].Clear()
    logits.type.tensor_type.shape.dim[1].dim_value = 1
