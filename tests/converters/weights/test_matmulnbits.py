"""One matrix of each type through ONNX Runtime: both storages, every optimization level."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from converters.graph.context import GraphContext
from converters.graph.graph import Graph
from converters.graph.onnx_file import write_graph
from converters.operators import OPERATOR_SETS
from converters.target import choose_target
from converters.weights.matmulnbits import MatMulNBits
from converters.weights.matrix import StoredRows
from converters.weights.nbits_matrix import NBitsMatrix
from converters.weights.records import TensorRecord
from repack.block_quantized import BlockQuantized, layout_of
from repack.registry import QUANT_TYPES
from tests.support.blocks import columns_of, random_blocks, reference

LEVELS = {
    "off": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
ROWS, BLOCKS = 21, 3  # odd counts; several rows, so that a row's padding shows


def session(
    folder: Path,
    name: str,
    storage: str,
    accuracy_level: int,
    optimization: str = "all",
    raw: np.ndarray | None = None,
) -> tuple[ort.InferenceSession, np.ndarray, TensorRecord]:
    """A model with two outputs: x @ W.T and the rows of W named by ids."""
    columns = columns_of(name, BLOCKS)
    raw = random_blocks(name, ROWS, BLOCKS, seed=11) if raw is None else raw
    rows = len(raw)
    quant = QUANT_TYPES[name]
    layout = layout_of(quant, rows, columns, "w")
    target = choose_target("cpu", storage=storage, accuracy_level=accuracy_level)
    graph, record = Graph("test"), TensorRecord("w", name, (rows, columns), raw.nbytes)
    context = GraphContext(graph, target, OPERATOR_SETS[target.operators], 1)
    part = StoredRows(record, layout, lambda: BlockQuantized(quant, layout, raw))
    matrix = MatMulNBits().emit(context, "w", [part], gathered=False)
    x = graph.input("x", "float32", ("batch", "sequence", columns))
    ids = graph.input("ids", "int64", ("batch", "tokens"))
    graph.output(matrix.product(context, x), "y", "float32", ("batch", "sequence", rows))
    graph.output(matrix.gather(context, ids), "rows", "float32", ("batch", "tokens", columns))
    write_graph(graph, folder, {}, ("test", "0"))
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[optimization]
    options.log_severity_level = 3
    loaded = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    return loaded, reference(raw, name), record


def ask(loaded: ort.InferenceSession, x: np.ndarray, ids: Any) -> tuple[np.ndarray, np.ndarray]:
    y, rows = loaded.run(["y", "rows"], {"x": x[None], "ids": np.array([ids], np.int64)})
    return y[0], rows[0]


@pytest.mark.parametrize("optimization", sorted(LEVELS))
@pytest.mark.parametrize("storage", ["fast", "small"])
@pytest.mark.parametrize("name", sorted(QUANT_TYPES))
def test_weights_read_back(tmp_path: Path, name: str, storage: str, optimization: str) -> None:
    """One-hot inputs with float activations give the weights; rows of the embedding are the weights."""
    loaded, weights, _ = session(tmp_path, name, storage, 0, optimization)
    y, rows = ask(loaded, np.eye(weights.shape[1], dtype=np.float32), [0, ROWS - 1, 5])
    scale = np.abs(weights).max()
    assert np.abs(y.T - weights).max() <= 2e-7 * scale
    assert np.abs(rows - weights[[0, ROWS - 1, 5]]).max() <= 1e-7 * scale


@pytest.mark.parametrize("optimization", sorted(LEVELS))
@pytest.mark.parametrize("storage", ["fast", "small"])
@pytest.mark.parametrize("name", sorted(QUANT_TYPES))
def test_int8_activations(tmp_path: Path, name: str, storage: str, optimization: str) -> None:
    """Level 4, where constant codes beside derived scales would give garbage; one token and many."""
    loaded, weights, _ = session(tmp_path, name, storage, 4, optimization)
    for tokens in (1, 9):
        x = np.random.default_rng(tokens).normal(size=(tokens, weights.shape[1])).astype(np.float32)
        y, _ = ask(loaded, x, [1])
        wanted = x.astype(np.float64) @ weights.T.astype(np.float64)
        assert np.linalg.norm(y - wanted) / np.linalg.norm(wanted) < 0.02


@pytest.mark.parametrize("name", sorted(QUANT_TYPES))
def test_storages_hold_the_same(tmp_path: Path, name: str) -> None:
    results = []
    for storage in ("fast", "small"):
        folder = tmp_path / storage
        folder.mkdir()
        loaded, weights, _ = session(folder, name, storage, 4)
        x = np.random.default_rng(1).normal(size=(4, weights.shape[1])).astype(np.float32)
        results.append(ask(loaded, x, [2, 3]))
    assert np.array_equal(results[0][0], results[1][0])
    assert np.array_equal(results[0][1], results[1][1])


def test_plain_codes_beside_derived_scales_are_refused() -> None:
    """ONNX Runtime's x64 kernel would answer garbage without an error."""
    graph = Graph("test")
    quant = QUANT_TYPES["Q4_0"]
    layout = layout_of(quant, 2, 32, "w")
    codes = graph.initializer("codes", "uint8", (2, 1, 16), lambda: np.zeros((2, 1, 16), np.uint8))
    stored = graph.initializer("scale", "float16", (2, 1), lambda: np.ones((2, 1), np.float16))
    with pytest.raises(AssertionError, match="wrong results"):
        NBitsMatrix(layout, codes, graph.cast(stored, "float32"), None)


EXTREMES = np.array([0, 6e-8, 6.097e-5, 6.104e-5, 1, 65504, -6e-8, -1, -65504, 0.0123], np.float16)


@pytest.mark.parametrize("storage", ["fast", "small"])
@pytest.mark.parametrize("name", sorted(QUANT_TYPES))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 9))
def test_extreme_scales(tmp_path: Path, name: str, storage: str, seed: int, rows: int) -> None:
    """Scales of zero, subnormal, negative and the largest, through ONNX Runtime; few rows, also one."""
    raw = random_blocks(name, rows, BLOCKS, seed, EXTREMES)
    loaded, weights, _ = session(tmp_path, name, storage, 0, raw=raw)
    y, embedded = ask(loaded, np.eye(weights.shape[1], dtype=np.float32), list(range(rows)))
    quant = QUANT_TYPES[name]
    matrix = BlockQuantized(quant, layout_of(quant, rows, weights.shape[1], "w"), raw)
    # A weight may be a small difference of two large numbers: it is right to their rounding.
    largest = np.abs(matrix.scale()) * 2 ** (quant.bits - 1)
    if quant.offset is not None:
        largest = largest + np.abs(matrix.offset())
    bound = 3e-7 * np.repeat(largest, quant.block_size, axis=1)
    assert (np.abs(y.T - weights) <= bound).all()
    assert (np.abs(embedded - weights) <= bound).all()
