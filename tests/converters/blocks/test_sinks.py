"""Attention sinks: the same logits however a text is cut, in windows and without; experts of MXFP4 beside them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from converters.graph.onnx_file import write_graph
from converters.operators import short_runs
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from tests.converters.blocks.test_padding import batch_logits, ragged
from tests.support.any_arch import CONTEXT, llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.f32 import dequantized_copy
from tests.support.oracle import require_llama
from tests.support.runner import TinySession, export, prompt

require_llama()
CASE = all_cases()["gpt-oss: usual"]
LENGTH = 100
CUTS = {"at once": None, "one by one": [1] * LENGTH, "threes": [3] * 33 + [1], "odd": [65, 2, 33]}
ON_GPUS = replace(choose_target("cuda"), norms_heads=False, dtype="float32")  # in which the CPU runs it
SINK_INPUT = 11  # of GroupQueryAttention
WIDENED = all_cases()["mimo2: usual, a block for the next token"]  # keys wider than values, turned in part


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_cuts(tmp_path: Path, ep: str) -> None:
    """Several tokens behind a cache are where a kernel counts a sink twice."""
    path = write_arch(tmp_path / "t.gguf", CASE)
    _, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    for name, steps in CUTS.items():
        np.testing.assert_allclose(session.logits(ids, steps), wanted, atol=CASE.tolerance, rtol=0, err_msg=name)


def on_gpus(path: Path, folder: Path, sinks: bool) -> TinySession:
    """Their graph on the CPU; without `sinks`, its GroupQueryAttention knows of none."""
    with GgufFile.open(path) as source:
        plan = make_plan(source, ON_GPUS)
        for node in plan.graph.nodes:
            assert node.op_type not in ("If", "Loop", "Scan")
            if node.op_type == "GroupQueryAttention" and not sinks:
                node.inputs = node.inputs[:SINK_INPUT]
        folder.mkdir()
        write_graph(plan.graph, folder, {}, ("test", "0"))
    return TinySession(folder, plan.states)


@pytest.mark.parametrize("case", [CASE, WIDENED], ids=["gpt-oss", "mimo2"])
def test_cuts_on_gpus(tmp_path: Path, case: object) -> None:
    """The operator is not believed where a few tokens come together, and all that is told is told by products."""
    path, ids = write_arch(tmp_path / "t.gguf", case), prompt(LENGTH, 320)  # type: ignore[arg-type]
    wanted = llama_logits(path, ids, CONTEXT)
    session, bare = (on_gpus(path, tmp_path / f"sinks_{sinks}", sinks) for sinks in (True, False))
    for name, steps in {**CUTS, "sixteens": [20, 16, 16, 1, 16, 3, 1, 27]}.items():
        np.testing.assert_allclose(session.logits(ids, steps), wanted, atol=CASE.tolerance, rtol=0, err_msg=name)
    for steps in (None, [60, 16, 16, 3, 3, 2]):
        np.testing.assert_allclose(bare.logits(ids, steps), wanted, atol=CASE.tolerance, rtol=0)
    assert np.abs(bare.logits(ids, [99, 1])[-1] - wanted[-1]).max() > 0.05


def test_long_runs_on_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries that fill a GPU are left to the operator, from the first number of tokens on that does."""
    monkeypatch.setattr(short_runs, "ENOUGH", 1)  # 64 queries: 16 tokens of 4 heads
    path, ids = write_arch(tmp_path / "t.gguf", CASE), prompt(31, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    bare = on_gpus(path, tmp_path / "bare", sinks=False)
    assert np.abs(bare.logits(ids[:15]) - wanted[:15]).max() < CASE.tolerance
    assert np.abs(bare.logits(ids[:16]) - wanted[:16]).max() > 0.05


def test_unequal_texts_on_gpus(tmp_path: Path) -> None:
    session, texts = ragged(tmp_path, "gpt-oss: usual", ON_GPUS)
    for text, found in zip(texts, batch_logits(session, texts, "right"), strict=True):
        wanted = llama_logits(tmp_path / "t.gguf", text, CONTEXT)
        np.testing.assert_allclose(found, wanted, atol=CASE.tolerance, rtol=0)
    left = batch_logits(session, texts, "left")
    assert all(np.isnan(rows).all() for rows in left[1:])


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_mxfp4_experts(tmp_path: Path, ep: str) -> None:
    """Logits of the stored weights are those of their numbers as floats."""
    path = write_arch(tmp_path / "t.gguf", CASE, "MXFP4")
    plan, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    assert {r.source_type for r in plan.weights.records.values() if "_exps.weight" in r.name} == {"MXFP4"}
    ids = prompt(24, 320)
    wanted = llama_logits(dequantized_copy(path, tmp_path / "f32.gguf"), ids, CONTEXT)
    np.testing.assert_allclose(session.logits(ids), wanted, atol=CASE.tolerance, rtol=0)
