"""A folder's graph beside the one that is built of its source: nodes, attributes, shapes, and every number that is no
weight.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from converters.graph.graph import Value
from converters.graph.onnx_file import proto_without_weights
from converters.plan import Plan
from converters.proof.difference import Findings
from converters.sources.onnx_folder.arrays import FolderArrays
from repack.errors import InputError

if TYPE_CHECKING:
    import onnx


def check_graph(path: Path, plan: Plan, arrays: FolderArrays, findings: Findings) -> None:
    """Compare the graph's file with the plan's graph, and the arrays that nobody has read so far with its constants."""
    import onnx

    stored, wanted = onnx.load(path, load_external_data=False), proto_without_weights(plan.graph, plan.files)
    for field in ("ir_version", "opset_import"):
        if str(getattr(stored, field)) != str(getattr(wanted, field)):
            findings.add("graph", path.name, f"{field} is not that of the graph of the source")
    _check_nodes(stored.graph.node, wanted.graph.node, findings)
    for field in ("input", "output", "value_info"):
        _check_named(getattr(stored.graph, field), getattr(wanted.graph, field), field.replace("_", " "), findings)
    _check_initializers(stored.graph.initializer, wanted.graph.initializer, path, findings)
    if not any(found.part == "graph" for found in findings.differences):  # else an array may not even be there
        for value in plan.graph.initializers.values():
            if value.name not in arrays.read:
                _check_array(value, arrays, findings)
    findings.nodes += len(wanted.graph.node)


def _check_nodes(stored: Sequence["onnx.NodeProto"], wanted: Sequence["onnx.NodeProto"], findings: Findings) -> None:
    """In their order, which is that of their names too."""
    ours, theirs = {node.name: node for node in stored}, {node.name: node for node in wanted}
    for name, node in theirs.items():
        if name not in ours:
            findings.add("graph", name, f"the node ({node.op_type}) is missing")
        elif ours[name] != node:
            findings.add("graph", name, _node_difference(ours[name], node))
    for name in ours.keys() - theirs.keys():
        findings.add("graph", name, f"a node ({ours[name].op_type}) that the graph of the source has not")
    if len(stored) != len(ours) or (ours.keys() == theirs.keys() and list(ours) != list(theirs)):
        findings.add("graph", "nodes", "are in another order, or have a name twice")


def _node_difference(stored: "onnx.NodeProto", wanted: "onnx.NodeProto") -> str:
    for field in ("op_type", "domain"):
        one, other = getattr(stored, field), getattr(wanted, field)
        if one != other:
            return f"{field} is {one!r} instead of {other!r}"
    for field in ("input", "output"):
        pairs = list(zip(getattr(stored, field), getattr(wanted, field), strict=False))
        at = next((i for i, (one, other) in enumerate(pairs) if one != other), None)
        if at is not None:
            return f"{field} {at} is {pairs[at][0]!r} instead of {pairs[at][1]!r}"
    import onnx

    ours, theirs = ({a.name: a for a in node.attribute} for node in (stored, wanted))
    for name in [*theirs, *(name for name in ours if name not in theirs)]:
        if ours.get(name) != theirs.get(name):
            known = [of[name] for of in (ours, theirs) if name in of]
            if len(known) == 2 and known[0].type == known[1].type != onnx.AttributeProto.GRAPH:
                one, other = (onnx.helper.get_attribute_value(a) for a in known)
                return f"attribute {name} is {one!r:.60} instead of {other!r:.60}"
            return f"attribute {name} is not that of the graph of the source"
    return "is not that of the graph of the source"


def _check_named(stored: Sequence[Any], wanted: Sequence[Any], what: str, findings: Findings) -> None:
    ours, theirs = ({value.name: value for value in values} for values in (stored, wanted))
    for name in [*theirs, *(name for name in ours if name not in theirs)]:
        if ours.get(name) != theirs.get(name):
            findings.add("graph", name, f"the {what} is missing, or of another type or shape")


def _check_initializers(
    stored: Sequence["onnx.TensorProto"], wanted: Sequence["onnx.TensorProto"], path: Path, findings: Findings
) -> None:
    """Types, shapes, and that data outside of the graph is where it has to be."""
    ours, theirs = ({tensor.name: tensor for tensor in tensors} for tensors in (stored, wanted))
    for name in [*theirs, *(name for name in ours if name not in theirs)]:
        one, other = ours.get(name), theirs.get(name)
        if one is None or other is None:
            findings.add("graph", name, "the initializer is missing" if one is None else "an initializer too much")
            continue
        if (one.data_type, list(one.dims)) != (other.data_type, list(other.dims)):
            kind = f"{list(one.dims)} of type {one.data_type} instead of {list(other.dims)} of type {other.data_type}"
            findings.add("graph", name, f"the initializer is {kind}")
        given = {entry.key: entry.value for entry in one.external_data}
        known = {entry.key: entry.value for entry in other.external_data}
        if given and not _same_place(given, known):
            findings.add("graph", name, f"is not {known['length']} bytes of {known['location']}, but {given}")


def _same_place(given: Mapping[str, str], known: Mapping[str, str]) -> bool:
    return given.get("location") == known["location"] and given.get("length", known["length"]) == known["length"]


def _check_array(value: Value, arrays: FolderArrays, findings: Findings) -> None:
    """Every byte of an initializer that is no weight of the source as it stands there."""
    try:
        stored = arrays.array(value.name).reshape(-1).view(np.uint8)
    except InputError as error:
        findings.add("graph", value.name, error.message)
        return
    at = 0
    for piece in value.pieces():
        wanted = np.ascontiguousarray(piece).reshape(-1).view(np.uint8)
        wrong = stored[at : at + wanted.size] != wanted
        if wrong.any():
            first = at + int(wrong.argmax())
            element = first * int(np.prod([int(n) for n in value.shape or ()])) // max(1, value.nbytes)
            findings.add("graph", value.name, f"the constant differs first in element {element:,}")
            return
        at += wanted.size
