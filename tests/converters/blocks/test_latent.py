"""Latent attention: what the cache holds, quantized matrices of heads, and where a kernel is too narrow."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import Plan, make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import Target, choose_target
from mobius_cli.runtime.session import OnnxModel
from repack.errors import MobiusError
from tests.support.any_arch import Case, write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import mobius
from tests.support.genai import genai_greedy
from tests.support.oracle import require_llama
from tests.support.runner import LENGTH, TOLERANCE, TinySession, llama_logits, prompt

require_llama()
ABSORBED = all_cases()["deepseek2: deepseek2 absorbed, groups, yarn"]
UNFOLDED = all_cases()["deepseek2: deepseek2 unfolded, one matrix for queries"]
WIDE = {"attention.kv_lora_rank": 512, "attention.key_length": 544, "attention.value_length": 512}


def written(folder: Path, path: Path, target: Target) -> tuple[Plan, TinySession]:
    with GgufFile.open(path) as source:
        plan = make_plan(source, target)
        write_graph(plan.graph, folder, {}, ("test", "0"))
    return plan, TinySession(folder, plan.states)


@pytest.mark.parametrize(
    ("target", "key"),
    [
        (choose_target("cpu", accuracy_level=0), (1, 288)),
        (choose_target("onnx"), (1, 288)),
        (replace(choose_target("cpu", accuracy_level=0), widest_head=280), (4, 96)),  # the latent head does not fit
    ],
    ids=["cpu", "onnx", "narrow kernel"],
)
def test_quantized_heads(tmp_path: Path, target: Target, key: tuple[int, int]) -> None:
    """Matrices of heads with offsets, against llama.cpp on the dequantized copy."""
    path = write_arch(tmp_path / "t.gguf", ABSORBED, "Q4_1")
    plan, session = written(tmp_path, path, target)
    assert plan.states[0].shape[1::2] == key
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(path, tmp_path, ids)
    for steps in (None, [LENGTH - 8, *[1] * 8]):
        np.testing.assert_allclose(session.logits(ids, steps), wanted, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize(("ep", "key"), [("cpu", (1, 544)), ("onnx", (1, 544)), ("cuda", (4, 96))])
def test_what_a_target_keeps(tmp_path: Path, ep: str, key: tuple[int, int]) -> None:
    """No kernel on CUDA takes the latent head of published models: keys are unfolded, and the record says by what."""
    path = write_arch(tmp_path / "t.gguf", replace(ABSORBED, keys={**ABSORBED.keys, **WIDE}), "Q8_0")
    with GgufFile.open(path) as source:
        plan = make_plan(source, choose_target(ep))
        record = plan.weights.records["blk.0.attn_k_b.weight"]
    assert plan.states[0].shape[1::2] == key
    assert (record.format == "floats, to unfold keys, float16") == (ep == "cuda")


@pytest.mark.parametrize(
    ("case", "keys"),
    [
        (ABSORBED, {"attention.key_length": 96}),
        (ABSORBED, {"attention.head_count_kv": 4}),
        (ABSORBED, {"attention.value_length": 64}),
        (ABSORBED, {"rope.dimension_count": 96}),
        (UNFOLDED, {"attention.head_count_kv": 1}),
    ],
)
def test_contradictions(tmp_path: Path, case: Case, keys: dict[str, int]) -> None:
    path = write_arch(tmp_path / "t.gguf", replace(case, untold_keys=keys))
    with GgufFile.open(path) as source, pytest.raises(MobiusError, match=r"contradicts itself|has shape"):
        make_plan(source, choose_target("cpu"))


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("case", [ABSORBED, UNFOLDED], ids=["absorbed", "unfolded"])
def test_genai_generates_the_same(tmp_path: Path, case: Case, ep: str) -> None:
    """A head's keys are wider than its values; where both stand in one buffer, values are filled up with zeros."""
    pytest.importorskip("onnxruntime_genai")
    path = write_arch(tmp_path / "t.gguf", case)
    assert mobius("convert", path, "-o", tmp_path / "out", "--ep", ep).exit_code == 0
    ids = prompt(40, 320)
    ours = list(OnnxModel(tmp_path / "out", threads=1).greedy(ids, 20))
    assert genai_greedy(tmp_path / "out", ids, 20) == ours
