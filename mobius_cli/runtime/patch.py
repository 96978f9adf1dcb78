"""Changes to a folder's graph in memory, for runs that want less or more of it; the weights stay where they are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from converters.graph.routers import RouterRecord
from converters.weights.nbits_matrix import set_accuracy_level


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
        _open_router(model.graph, router, forced_input(index), onnx)
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


def forced_input(router: int) -> str:
    """Name of the input with the experts that the router of that number has to take, -1 where it is free."""
    return f"forced_experts.{router}"


def _open_router(graph: Any, router: RouterRecord, forced: str, onnx: Any) -> None:
    """Make its tensors outputs, and the chosen experts those of an input where that has any."""
    helper, types = onnx.helper, onnx.TensorProto
    own, free = f"{router.experts}/own", f"{router.experts}/free"
    at = next(index for index, node in enumerate(graph.node) if router.experts in node.output)
    graph.node[at].output[:] = [own if name == router.experts else name for name in graph.node[at].output]
    graph.initializer.append(helper.make_tensor(f"{free}/zero", types.INT64, [], [0]))
    graph.node.insert(at + 1, helper.make_node("Less", [forced, f"{free}/zero"], [free], name=free))
    chosen = helper.make_node("Where", [free, own, forced], [router.experts], name=f"{router.experts}/chosen")
    graph.node.insert(at + 2, chosen)
    taken = [1, "routed_tokens", router.used]
    graph.input.append(helper.make_tensor_value_info(forced, types.INT64, taken))
    graph.output.append(helper.make_tensor_value_info(router.experts, types.INT64, taken))
    known = {output.name for output in graph.output}
    for name in dict.fromkeys((router.products, router.scores, router.choice)):
        if name not in known:
            graph.output.append(helper.make_tensor_value_info(name, types.FLOAT, [1, "routed_tokens", router.count]))
