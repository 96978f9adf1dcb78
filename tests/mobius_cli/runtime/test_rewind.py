"""Going back in a sequence: what follows is bit for bit what followed before."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from converters.graph.states import BATCH, State
from mobius_cli.runtime.decoding import Decoding, ReplayedDecoding
from mobius_cli.runtime.session import OnnxModel
from repack.errors import MobiusError
from tests.support.cli import mobius
from tests.support.runner import prompt
from tests.support.tiny import write_tiny

IDS = prompt(12, 256)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, OnnxModel]:
    base = tmp_path_factory.mktemp("rewind")
    path = write_tiny(base / "t.gguf", "gemma3", types={"token_embd": "Q8_0", ".": "Q4_K"}, tokenizer="spm")
    for ep in ("cpu", "onnx"):
        done = mobius("convert", path, "-o", base / ep, "--ep", ep)
        assert done.exit_code == 0, done.stderr
    return {ep: OnnxModel(base / ep, threads=1, last_logits=True) for ep in ("cpu", "onnx")}


@pytest.fixture(params=["in place", "replayed", "growing"])
def decoding(models: dict[str, OnnxModel], request: pytest.FixtureRequest) -> Decoding:
    """Replayed decoding on the CPU: nothing is captured there, but buffers and mask are the same."""
    model = models["onnx" if request.param == "growing" else "cpu"]
    if request.param == "replayed":
        return ReplayedDecoding(model._session, model.manifest.states, 20, "cpu", True, graph_id=1)
    return model.start(20)


def steps(decoding: Decoding, ids: list[int]) -> np.ndarray:
    return np.concatenate([decoding.run([token]).copy() for token in ids])


def test_the_same_steps_again(decoding: Decoding) -> None:
    decoding.run(IDS[:5])
    first = steps(decoding, IDS[5:])
    decoding.rewind(5)
    assert decoding.past == 5
    assert np.array_equal(steps(decoding, IDS[5:]), first)
    assert len({row.tobytes() for row in first}) == len(first)


def test_other_steps_than_before(decoding: Decoding) -> None:
    """Nothing of the tokens that were taken back is left."""
    decoding.run(IDS[:5])
    wanted = steps(decoding, IDS[5:9])
    decoding.rewind(3)
    steps(decoding, prompt(12, 256, seed=1))
    decoding.rewind(0)
    decoding.run(IDS[:5])
    assert np.array_equal(steps(decoding, IDS[5:9]), wanted)


def test_a_pass_again(decoding: Decoding) -> None:
    decoding.run(IDS[:4])
    first = decoding.run(IDS[4:])
    decoding.rewind(4)
    assert np.array_equal(decoding.run(IDS[4:]), first)


@pytest.mark.parametrize("length", [-1, 6])
def test_only_back(decoding: Decoding, length: int) -> None:
    decoding.run(IDS[:5])
    with pytest.raises(ValueError, match="cannot rewind from 5"):
        decoding.rewind(length)


@pytest.fixture(scope="module")
def adding(tmp_path_factory: pytest.TempPathFactory) -> ort.InferenceSession:
    """A model that carries the sum of all ids so far, which is its logits too: a state without positions."""
    sizes = {"input_ids": ["b", "s"], "attention_mask": ["b", "t"]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in sizes.items()]
    inputs.append(helper.make_tensor_value_info("past_key_values.0.sum", TensorProto.FLOAT, ["b", 1]))
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", 1, 1]),
               helper.make_tensor_value_info("present.0.sum", TensorProto.FLOAT, ["b", 1])]  # fmt: skip
    nodes = [
        helper.make_node("Cast", ["input_ids"], ["ids"], to=TensorProto.FLOAT),
        helper.make_node("ReduceSum", ["ids", "last"], ["more"]),
        helper.make_node("Add", ["past_key_values.0.sum", "more"], ["present.0.sum"]),
        helper.make_node("Unsqueeze", ["present.0.sum", "last"], ["logits"]),
    ]
    last = helper.make_tensor("last", TensorProto.INT64, [1], [-1])
    graph = helper.make_graph(nodes, "adding", inputs, outputs, [last])
    path: Path = tmp_path_factory.mktemp("adding") / "m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    return ort.InferenceSession(path)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_state_without_positions(adding: ort.InferenceSession, in_place: bool) -> None:
    """It begins with zeros, is carried on, and goes back to marked places only."""
    decoding = Decoding(adding, [State("sum", 0, 0, "float32", (BATCH, 1), in_place)], 20, "cpu", True)
    assert decoding.run([1, 2]).tolist() == [[3]]
    assert decoding.run([4]).tolist() == [[7]]
    decoding.rewind(3)
    with pytest.raises(MobiusError, match="cannot go back in a text: the model has states without positions"):
        decoding.rewind(2)
    decoding.mark()
    assert decoding.run([10]).tolist() == [[17]]
    decoding.rewind(3)
    assert decoding.run([20]).tolist() == [[27]]
    decoding.rewind(0)
    assert decoding.run([5]).tolist() == [[5]]
    assert decoding.past == 1


def test_capturing_runs_count_once(adding: ort.InferenceSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime executes a graph three times while it captures it; a state must not have moved three times."""
    decoding = ReplayedDecoding(adding, [State("sum", 0, 0, "float32", (BATCH, 1), True)], 20, "cpu", True, graph_id=1)
    runs: list[int] = []

    class Capturing:
        def run_with_iobinding(self, binding: object, options: object) -> None:
            for _ in range(1 if runs else 3):
                adding.run_with_iobinding(binding, options)
            runs.append(1)

    monkeypatch.setattr(decoding, "_session", Capturing())
    assert [decoding.run([n]).item() for n in (1, 2, 4)] == [1, 3, 7]
