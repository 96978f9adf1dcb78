"""One matrix of each arrangement of integers through ONNX Runtime, in both forms, at every optimization level."""

import json
from copy import deepcopy
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from converters.graph.context import GraphContext
from converters.graph.graph import Graph
from converters.graph.onnx_file import write_graph
from converters.operators import OPERATOR_SETS
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.target import choose_target
from converters.weights.weights import Weights
from tests.converters.weights.test_matmulnbits import LEVELS
from tests.support import checkpoint as tiny
from tests.support.int4 import FORMS, Quantized, quantized

SHAPE = (32, 384)
NAME, STEM = "blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj"
EXACT = sorted(name for name in FORMS if not name.startswith("mlx"))  # with biases, a sum is rounded
INT8 = [("ct asymmetric", "cpu"), ("ct ordered", "cpu"), ("ct 8 bit", "cpu"), ("gptq ordered", "cpu"),
        ("ct asymmetric", "onnx"), ("gptq ordered", "onnx")]  # fmt: skip


def matrix_of(folder: Path, name: str, ep: str, level: int) -> Quantized:
    """A graph that multiplies by one matrix of a folder; what the matrix means."""
    form = FORMS[name]
    one = quantized(SHAPE, form, 5)
    tensors = {n: tiny.stored(v, "F16") for n, v in tiny.weights_of("llama").items() if not n.startswith(STEM)}
    config = deepcopy(tiny.config_of("llama", intermediate_size=SHAPE[1], **form.config))
    if config.get("quantization_config", {}).get("quant_method") == "compressed-tensors":
        config["quantization_config"]["ignore"] = ["re:(?!model.layers.0.mlp.down_proj)"]
    tiny.write_checkpoint(folder, config, tensors | form.write(STEM, one))
    for beside, content in form.beside.items():
        (folder / beside).write_text(json.dumps(content))
    target = choose_target(ep, **({"accuracy_level": level} if ep == "cpu" else {}))
    graph = Graph("test")
    context = GraphContext(graph, target, OPERATOR_SETS[target.operators], 1)
    with CheckpointFolder.open(folder) as source:
        matrix = Weights(source, context).matrix(NAME, SHAPE)
        x = graph.input("x", "float32", ("batch", "sequence", SHAPE[1]))
        graph.output(matrix.product(context, x), "y", "float32", ("batch", "sequence", SHAPE[0]))
        write_graph(graph, folder, {}, ("test", "0"))
    return one


def product(folder: Path, x: np.ndarray, optimization: str, level: int) -> np.ndarray:
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[optimization]
    options.log_severity_level = 3
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", str(level))
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    loaded = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    found: np.ndarray = loaded.run(None, {"x": x[None]})[0][0]
    return found


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("name", EXACT)
def test_weights_read_back(tmp_path: Path, name: str, ep: str) -> None:
    """One-hot inputs give the weights, bit for bit; and no DequantizeLinear is left."""
    import onnx

    one = matrix_of(tmp_path, name, ep, 0)
    for optimization in LEVELS:
        found = product(tmp_path, np.eye(SHAPE[1], dtype=np.float32), optimization, 0)
        np.testing.assert_array_equal(found.T, one.values)
        kinds = [node.op_type for node in onnx.load(tmp_path / "optimized.onnx", load_external_data=False).graph.node]
        assert optimization != "all" or (kinds.count("MatMulNBits") == 1 and "DequantizeLinear" not in kinds)


@pytest.mark.parametrize(("name", "ep"), INT8)
def test_int8_activations(tmp_path: Path, name: str, ep: str) -> None:
    """Level 4, where constant codes or zero points beside derived scales would give garbage; one token and many."""
    one = matrix_of(tmp_path, name, ep, 4)
    for tokens in (1, 9):
        x = np.random.default_rng(tokens).normal(size=(tokens, SHAPE[1])).astype(np.float32)
        wanted = x.astype(np.float64) @ one.values.T.astype(np.float64)
        for optimization in LEVELS:
            found = product(tmp_path, x, optimization, 4)
            assert np.linalg.norm(found - wanted) / np.linalg.norm(wanted) < 0.03
