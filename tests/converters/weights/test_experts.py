"""Experts kept quantized: every form and storage of a mixture, against llama.cpp on its float32 copy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.f32 import dequantized_copy
from tests.support.oracle import LlamaModel, require_llama
from tests.support.runner import TOLERANCE, export, prompt

require_llama()

USUAL = all_cases()["qwen3moe: usual"]
KEYS = {**USUAL.keys, "embedding_length": 256, "expert_feed_forward_length": 512}
CASE = replace(USUAL, keys=KEYS)
KINDS = ["Q4_0", "Q8_0", "Q2_K", "Q4_K", "Q6_K", "IQ4_XS", "MXFP4", "NVFP4"]


def wanted_logits(path: Path, ids: list[int]) -> np.ndarray:  # type: ignore[type-arg]
    with LlamaModel(dequantized_copy(path, path.with_suffix(".f32.gguf")), n_ctx=256) as model:
        return model.logits(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_every_storage(tmp_path: Path, kind: str) -> None:
    """Prompts and single tokens, both targets, both storages, floats."""
    path, ids = write_arch(tmp_path / "t.gguf", CASE, kind), prompt(40, 320)
    wanted = wanted_logits(path, ids)
    ways = {
        "fast": {"ep": "cpu"},
        "small": {"ep": "cpu", "storage": "small"},
        "floats": {"ep": "cpu", "dequantize": True},
        "onnx": {"ep": "onnx"},
    }
    for name, choices in ways.items():
        plan, session = export(path, tmp_path / name, accuracy_level=0, **choices)
        np.testing.assert_allclose(session.logits(ids, [37, 1, 1, 1]), wanted, atol=TOLERANCE, rtol=0, err_msg=name)
        record = plan.weights.records["blk.0.ffn_down_exps.weight"]
        assert record.exact and record.experts == 6
        if name == "small":
            assert record.stored_bytes <= 1.03 * record.source_bytes


def test_gate_and_up_of_two_types(tmp_path: Path) -> None:
    """Then each is a stack of its own; floats too."""
    types = {"ffn_up_exps": "Q6_K", "ffn_gate_exps": "Q5_K", "ffn_down_exps": "F16", ".": "Q4_K"}
    path, ids = write_arch(tmp_path / "t.gguf", CASE, types), prompt(40, 320)
    _, session = export(path, tmp_path / "onnx", accuracy_level=0)
    np.testing.assert_allclose(session.logits(ids), wanted_logits(path, ids), atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC"])
@pytest.mark.parametrize("storage", ["fast", "small"])
def test_without_optimizations(tmp_path: Path, level: str, storage: str) -> None:
    """At int8 activations too, where constant codes beside scales that are not would be garbage."""
    path, ids = write_arch(tmp_path / "t.gguf", CASE, "Q4_0"), prompt(12, 320)
    _plan, session = export(path, tmp_path / "onnx", storage=storage)
    wanted = session.logits(ids)
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    session.session = ort.InferenceSession(str(tmp_path / "onnx" / "model.onnx"), options, ["CPUExecutionProvider"])
    found = session.logits(ids)
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 0.05 * wanted.std()


def test_nodes_do_not_multiply(tmp_path: Path) -> None:
    """Two products for each expert and layer, and what all share."""
    counts = {}
    for count in (8, 16):
        case = replace(CASE, keys={**KEYS, "expert_count": count, "block_count": 2})
        plan, _ = export(write_arch(tmp_path / f"{count}.gguf", case, "Q4_K"), tmp_path / str(count))
        counts[count] = len(plan.graph.nodes)
    assert counts[16] - counts[8] == 2 * 2 * 8
