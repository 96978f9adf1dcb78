"""Decoding with an in-place cache: on the CPU always, replayed on a GPU where there is one."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from mobius_cli.runtime.session import CHUNK, OnnxModel
from repack.errors import InputError, MobiusError
from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import mobius
from tests.support.runner import TinySession, export, prompt
from tests.support.tiny import write_tiny

IDS = prompt(12, 256)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("decoding")
    path = write_tiny(base / "t.gguf", "gemma3", types={"token_embd": "Q8_0", ".": "Q4_K"}, tokenizer="spm", n_ctx=600)
    for ep in ("cpu", "cuda"):
        done = mobius("convert", path, "-o", base / ep, "--ep", ep)
        assert done.exit_code == 0, done.stderr
    return {ep: base / ep for ep in ("cpu", "cuda")}


def test_steps_equal_a_pass(folders: dict[str, Path]) -> None:
    model = OnnxModel(folders["cpu"], threads=1, accuracy_level=0)
    whole = model.logits(IDS)
    decoding = model.start(len(IDS))
    rows = [decoding.run(IDS[:5]), *(decoding.run([token]) for token in IDS[5:])]
    np.testing.assert_allclose(np.concatenate(rows), whole, atol=1e-3)
    assert decoding.past == len(IDS)


def test_passes_longer_than_a_chunk(folders: dict[str, Path]) -> None:
    """Two chunks of equal length come back as they were, not both as the second."""
    long = prompt(2 * CHUNK, 256)
    model = OnnxModel(folders["cpu"], threads=1, accuracy_level=0)
    whole = model.start(len(long)).run(long)
    np.testing.assert_allclose(model.logits(long), whole, atol=2e-3)


def test_last_logits(folders: dict[str, Path]) -> None:
    whole = OnnxModel(folders["cpu"], threads=1).logits(IDS)
    last = OnnxModel(folders["cpu"], threads=1, last_logits=True).start(len(IDS)).run(IDS)
    assert last.shape == (1, whole.shape[1])
    np.testing.assert_allclose(last[0], whole[-1], atol=1e-3)


def test_the_cuda_graph_runs_on_the_cpu(tmp_path: Path) -> None:
    """float16, so near and not equal; this keeps the graph honest where there is no GPU."""
    path = write_tiny(tmp_path / "t.gguf", "llama", types={"attn_v": "Q6_K", ".": "Q4_K"}, tokenizer="spm")
    for ep in ("cpu", "cuda"):
        assert mobius("convert", path, "-o", tmp_path / ep, "--ep", ep).exit_code == 0
    wanted = OnnxModel(tmp_path / "cpu", threads=1, accuracy_level=0).logits(IDS)
    half = OnnxModel(tmp_path / "cuda", ep="cpu", threads=1).logits(IDS)
    assert np.abs(half - wanted).max() < 0.03 * wanted.std()


def test_the_cuda_graph_but_for_its_norms_runs_on_the_cpu(tmp_path: Path) -> None:
    """Gemma: where the operator norms q and k itself, only a GPU has the kernel; all else runs here."""
    path = write_tiny(tmp_path / "t.gguf", "gemma3", types={"token_embd": "Q8_0", ".": "Q4_K"})
    _, whole = export(path, tmp_path / "cpu", accuracy_level=0)
    target = replace(choose_target("cuda"), norms_heads=False)
    with GgufFile.open(path) as source:
        plan = make_plan(source, target)
        inside = make_plan(source, choose_target("cuda"))
        (tmp_path / "cuda").mkdir()
        write_graph(plan.graph, tmp_path / "cuda", {}, ("test", "0"))
    wanted = whole.logits(IDS)
    half = TinySession(tmp_path / "cuda", plan.states).logits(IDS)
    assert np.abs(half - wanted).max() < 0.03 * wanted.std()
    normed = [node for node in inside.graph.nodes if node.op_type == "GroupQueryAttention"]
    assert [v.name for v in normed[1].inputs[14:] if v] == [f"blk.1.attn_{part}_norm.weight" for part in "qk"]
    assert normed[1].attributes["qk_norm_epsilon"] == pytest.approx(1e-6)


def test_a_folder_with_norms_in_its_operators_is_refused_on_the_cpu(folders: dict[str, Path]) -> None:
    with pytest.raises(MobiusError, match="made for cuda, whose attention operator norms q and k itself"):
        OnnxModel(folders["cuda"], ep="cpu")


def test_too_long(folders: dict[str, Path]) -> None:
    model = OnnxModel(folders["cpu"], threads=1)
    with pytest.raises(MobiusError, match="700 tokens do not fit"):
        model.start(700)


@pytest.mark.skipif("CUDAExecutionProvider" not in ort.get_available_providers(), reason="needs a GPU")
def test_replayed_steps_equal_a_pass(folders: dict[str, Path]) -> None:
    model = OnnxModel(folders["cuda"], ep="cuda")
    tokens = list(model.greedy(IDS, 20))
    passed = model.logits([*IDS, *tokens[:-1]], first=len(IDS) - 1)
    assert passed.argmax(-1).tolist() == tokens


def test_no_gpu_is_said(folders: dict[str, Path]) -> None:
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("there is a GPU")
    done = mobius("run", folders["cuda"], "-p", "x")
    assert done.exit_code == 1
    assert "no CUDAExecutionProvider" in done.stderr
    assert "mobius-cli[gpu]" in done.stderr


def test_a_folder_with_experts_in_the_order_of_gpus_is_refused_on_the_cpu(tmp_path: Path) -> None:
    """FP4 in QMoE, where the CPU's kernel takes other numbers from the same bytes."""
    path = write_arch(tmp_path / "t.gguf", all_cases()["gpt-oss: usual"], "MXFP4")
    assert mobius("convert", path, "-o", tmp_path / "cuda", "--ep", "cuda").exit_code == 0
    with pytest.raises(InputError, match="made for cuda, whose operator has experts of MXFP4 in an order of its own"):
        OnnxModel(tmp_path / "cuda", ep="cpu")
