"""Routers of a graph in memory laid open: their tensors become outputs, and an input can make their choices."""

from typing import Any

from converters.graph.routers import CLOSED, RouterRecord


def forced_input(router: int) -> str:
    """Name of the input with the experts that the router of that number has to take, -1 where it is free."""
    return f"forced_experts.{router}"


def open_router(graph: Any, router: RouterRecord, forced: str, onnx: Any) -> None:
    """Make its tensors outputs, and the chosen experts those of an input where that has any."""
    helper, types = onnx.helper, onnx.TensorProto
    if router.shares:
        _choose_outside(graph, router, onnx)
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


def _choose_outside(graph: Any, router: RouterRecord, onnx: Any) -> None:
    """Choose as the operator does that reads the shares, and leave it no other choice."""
    helper, types, shares = onnx.helper, onnx.TensorProto, router.shares
    reader = next(index for index, node in enumerate(graph.node) if shares in node.input)
    opened = f"{shares}/opened"
    graph.node[reader].input[:] = [opened if name == shares else name for name in graph.node[reader].input]

    def constant(name: str, kind: int, values: list[Any], *shape: int) -> str:
        graph.initializer.append(helper.make_tensor(f"{shares}/{name}", kind, shape, values))
        return f"{shares}/{name}"

    def node(kind: str, inputs: list[str], *outputs: str, **attributes: Any) -> Any:
        names = [name if name in (opened, router.experts) else f"{shares}/{name}" for name in outputs]
        made.append(helper.make_node(kind, inputs, names, name=f"{shares}/{kind}{len(made)}", **attributes))
        return names[-1]

    made: list[Any] = []
    wide = node("Cast", [shares], "wide", to=types.FLOAT)
    best = node("TopK", [wide, constant("used", types.INT64, [router.used], 1)], "best_values", "best")
    experts = node("Reshape", [best, constant("row", types.INT64, [1, -1, router.used], 3)], router.experts)
    index = node("Reshape", [experts, constant("flat", types.INT64, [-1, router.used], 2)], "index")
    kept = node("GatherElements", [shares, index], "kept", axis=1)
    closed = node("CastLike", [constant("closed", types.FLOAT, [CLOSED]), shares], "closed_like")
    everywhere = node("Expand", [closed, node("Shape", [shares], "shape")], "all_closed")
    node("ScatterElements", [everywhere, index, kept], opened, axis=1)
    for offset, one in enumerate(made):
        graph.node.insert(reader + offset, one)
