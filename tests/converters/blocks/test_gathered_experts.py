"""Experts as targets without control flow have them, in float32 on the CPU: logits equal llama.cpp's."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from tests.support.any_arch import Case, llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.f32 import dequantized_copy
from tests.support.oracle import require_llama
from tests.support.runner import F32, TinySession, prompt

require_llama()

MIXTURES = {name: case for name, case in all_cases().items() if "expert_count" in case.keys}
FIRST = {case.arch: case for case in reversed(MIXTURES.values())}
CASES = {**FIRST, "fewer channels": MIXTURES["nemotron_h_moe: experts of fewer channels"]}
KINDS = ["Q4_0", "Q4_K", "Q6_K", "NVFP4"]
STEPS = [29, 2, *[1] * 9]  # one row is gathered, those before it go through all experts


def gathered_logits(path: Path, ids: list[int], storage: str = "fast") -> F32:
    """The graph's, in steps."""
    target = replace(choose_target("cpu", accuracy_level=0, storage=storage), gathers_experts=True)
    folder = path.with_suffix(f".{storage}")
    folder.mkdir()
    with GgufFile.open(path) as source:
        plan = make_plan(source, target)
        assert not {node.op_type for node in plan.graph.nodes if "/experts/" in node.name} & {"If", "Loop"}
        write_graph(plan.graph, folder, {}, ("test", "0"))
    return TinySession(folder, plan.states).logits(ids, STEPS)


@pytest.mark.parametrize("name", list(CASES))
def test_equals_llama_cpp(tmp_path: Path, name: str) -> None:
    case, ids = CASES[name], prompt(sum(STEPS), 320)
    path = write_arch(tmp_path / "t.gguf", case)
    np.testing.assert_allclose(gathered_logits(path, ids), llama_logits(path, ids, 256), atol=case.tolerance, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_quantized(tmp_path: Path, kind: str) -> None:
    """Both storages; second-level scales of experts."""
    case: Case = all_cases()["qwen3moe: scales"]
    path, ids = write_arch(tmp_path / "t.gguf", case, kind), prompt(sum(STEPS), 320)
    wanted = llama_logits(dequantized_copy(path, tmp_path / "f32.gguf"), ids, 256)
    for storage in ("fast", "small"):
        np.testing.assert_allclose(gathered_logits(path, ids, storage), wanted, atol=case.tolerance, rtol=0)
