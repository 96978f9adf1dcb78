"""Rotary tables: made from two short ones, as exact as cosines themselves, by operators that old runtimes have."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.support.runner import export
from tests.support.tiny import write_tiny

DIM, THETA = 64, 10000.0


@pytest.mark.parametrize("context", [1, 2, 61, 64, 1000])
def test_tables(tmp_path: Path, context: int) -> None:
    path = write_tiny(tmp_path / "t.gguf", "llama", n_ctx=1000)
    export(path, tmp_path / "out", ep="onnx", context_length=context)
    model = onnx.load(tmp_path / "out" / "model.onnx")
    assert not {"Cos", "Sin"} & {node.op_type for node in model.graph.node}
    turn = next(node for node in model.graph.node if node.op_type == "RotaryEmbedding")
    cos, sin = _values(model, turn.input[1:3])
    angles = np.arange(context)[:, None] * THETA ** (-np.arange(0, cos.shape[1] * 2, 2) / (cos.shape[1] * 2))
    assert cos.shape == (context, angles.shape[1])
    np.testing.assert_allclose(cos, np.cos(angles), rtol=0, atol=6e-8)
    np.testing.assert_allclose(sin, np.sin(angles), rtol=0, atol=6e-8)


def _values(model: onnx.ModelProto, names: list[str]) -> list[np.ndarray]:  # type: ignore[type-arg]
    """What constants become, by onnx's own evaluator."""
    wanted, nodes = set(names), []
    for node in reversed(model.graph.node):
        if wanted & set(node.output):
            nodes.insert(0, node)
            wanted |= set(node.input)
    outputs = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names]
    kept = [tensor for tensor in model.graph.initializer if tensor.name in wanted]
    graph = onnx.helper.make_graph(nodes, "tables", [], outputs, kept)
    found = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=model.opset_import)).run(None, {})
    return list(found)
