"""Going back in a sequence: what follows is bit for bit what followed before."""

import numpy as np
import pytest

from mobius_cli.runtime.decoding import Decoding, ReplayedDecoding
from mobius_cli.runtime.session import OnnxModel
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
