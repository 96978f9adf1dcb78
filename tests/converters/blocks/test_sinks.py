"""Attention sinks: the same logits however a text is cut, in windows and without; experts of MXFP4 beside them."""

from pathlib import Path

import numpy as np
import pytest

from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from repack.errors import MobiusError
from tests.support.any_arch import CONTEXT, llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.f32 import dequantized_copy
from tests.support.oracle import require_llama
from tests.support.runner import export, prompt

require_llama()
CASE = all_cases()["gpt-oss: usual"]
LENGTH = 100
CUTS = {"at once": None, "one by one": [1] * LENGTH, "threes": [3] * 33 + [1], "odd": [65, 2, 33]}


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_cuts(tmp_path: Path, ep: str) -> None:
    """Several tokens behind a cache are where a kernel counts a sink twice."""
    path = write_arch(tmp_path / "t.gguf", CASE)
    _, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    for name, steps in CUTS.items():
        np.testing.assert_allclose(session.logits(ids, steps), wanted, atol=CASE.tolerance, rtol=0, err_msg=name)


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_mxfp4_experts(tmp_path: Path, ep: str) -> None:
    """Logits of the stored weights are those of their numbers as floats."""
    path = write_arch(tmp_path / "t.gguf", CASE, "MXFP4")
    plan, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    assert {r.source_type for r in plan.weights.records.values() if "_exps.weight" in r.name} == {"MXFP4"}
    ids = prompt(24, 320)
    wanted = llama_logits(dequantized_copy(path, tmp_path / "f32.gguf"), ids, CONTEXT)
    np.testing.assert_allclose(session.logits(ids), wanted, atol=CASE.tolerance, rtol=0)


def test_refused_where_a_kernel_is_wrong(tmp_path: Path) -> None:
    with (
        GgufFile.open(write_arch(tmp_path / "t.gguf", CASE)) as source,
        pytest.raises(MobiusError, match="attention sinks cannot be on cuda: where several tokens follow a cache"),
    ):
        make_plan(source, choose_target("cuda"))
