"""Second-level scales: `X.scale` multiplies the product of `X.weight`, `X.input_scale` is named and unused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from repack.errors import MobiusError
from tests.support.oracle import LlamaModel, require_llama
from tests.support.runner import export, llama_logits, prompt
from tests.support.tiny import write_tiny

require_llama()
MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def scales(layers: int = 2, suffix: str = "scale") -> dict[str, Any]:
    names = [f"blk.{i}.{m}.{suffix}" for i in range(layers) for m in MATRICES]
    return {n: np.array([0.6 + 0.1 * (k % 9)], np.float32) for k, n in enumerate(names)}


@pytest.mark.parametrize("types", ["F32", "NVFP4", "Q4_0"])
def test_scale_multiplies_the_result(tmp_path: Path, types: str) -> None:
    path = write_tiny(tmp_path / "t.gguf", "llama", types=types, extra_tensors=scales())
    plan, session = export(path, tmp_path / "onnx", accuracy_level=0)
    ids = prompt(16, 320)
    wanted = llama_logits(path, tmp_path, ids)  # the float32 copy keeps the scales as they are
    np.testing.assert_allclose(session.logits(ids), wanted, atol=1e-4, rtol=0)
    assert plan.weights.records["blk.0.attn_q.scale"].format == "multiplies the result, float32"
    plain = write_tiny(tmp_path / "plain.gguf", "llama", types=types)
    _, without = export(plain, tmp_path / "plain", accuracy_level=0)
    assert np.abs(without.logits(ids) - wanted).max() > 0.3  # the test can see them


def test_nvfp4_in_llama_cpp_itself(tmp_path: Path) -> None:
    """Against llama.cpp on the NVFP4 file, within its 8-bit activations."""
    path = write_tiny(tmp_path / "t.gguf", "llama", types="NVFP4", extra_tensors=scales())
    _, session = export(path, tmp_path / "onnx", accuracy_level=0)
    ids = prompt(12, 320)
    with LlamaModel(path) as model:
        assert np.abs(session.logits(ids) - model.logits(ids)).max() < 0.3


def test_input_scales_are_named(tmp_path: Path) -> None:
    extra = {**scales(), **scales(suffix="input_scale")}
    plan, _ = export(write_tiny(tmp_path / "t.gguf", "llama", types="NVFP4", extra_tensors=extra), tmp_path / "onnx")
    assert any("14 .input_scale tensors are not used" in w for w in plan.warnings)
    assert plan.weights.records["blk.1.ffn_up.input_scale"].format == "unused, as in llama.cpp"


def test_head_scale(tmp_path: Path) -> None:
    extra = {"output.scale": np.array([0.5], np.float32)}
    ids = prompt(5, 320)
    logits = []
    for name, tensors in (("with", extra), ("without", {})):
        path = write_tiny(tmp_path / f"{name}.gguf", "llama", types="NVFP4", extra_tensors=tensors)
        logits.append(export(path, tmp_path / name, accuracy_level=0)[1].logits(ids))
    np.testing.assert_allclose(logits[0], logits[1] * 0.5, rtol=1e-5)


def test_float16_scales_that_overflow_are_refused(tmp_path: Path) -> None:
    extra = {"blk.0.attn_q.scale": np.array([1e6], np.float32)}
    path = write_tiny(tmp_path / "t.gguf", "llama", types="NVFP4", extra_tensors=extra)
    with pytest.raises(MobiusError, match=r"blk\.0\.attn_q\.scale: .* too large for float16"):
        export(path, tmp_path / "onnx", dtype="f16")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tied": True, "extra_tensors": {"output.scale": np.ones(1, np.float32)}}, "no place .*: output.scale"),
        ({"extra_tensors": {"blk.0.attn_norm.scale": np.ones(1, np.float32)}}, "attn_norm.scale"),
        ({"extra_tensors": {"blk.0.attn_q.weight.scale": np.ones(1, np.float32)}}, "attn_q.weight.scale"),
        ({"extra_tensors": {"blk.7.attn_q.input_scale": np.ones(1, np.float32)}}, "blk.7.attn_q.input_scale"),
        ({"extra_tensors": {"blk.0.attn_q.scale": np.ones(4, np.float32)}}, r"shape \[4\]"),
        ({"extra_tensors": {"blk.0.ffn_up.scale": np.ones(1, np.float32)}, "biases": ("ffn_up",)}, "bias and a scale"),
    ],
)
def test_refusals(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = write_tiny(tmp_path / "t.gguf", "llama", **options)
    with pytest.raises(MobiusError, match=message):
        export(path, tmp_path / "onnx")


def test_scales_of_the_feed_forward_that_llama_cpp_does_not_apply(tmp_path: Path) -> None:
    """For Qwen 2 it multiplies attention's products only: so do we, and say which tensors are not used."""
    path = write_tiny(tmp_path / "t.gguf", "qwen2", types="NVFP4", extra_tensors=scales())
    plan, session = export(path, tmp_path / "onnx", accuracy_level=0)
    ids = prompt(12, 320)
    with LlamaModel(path) as model:
        assert np.abs(session.logits(ids) - model.logits(ids)).max() < 0.3
    assert any("6 tensor(s) are not used, as in llama.cpp: blk.0.ffn_" in w for w in plan.warnings)


@pytest.mark.parametrize("arch", ["qwen2", "llama"])
def test_scales_of_experts_are_never_set_aside(tmp_path: Path, arch: str) -> None:
    """They belong to quantized experts: in a dense model they are what has no place, not what llama.cpp ignores."""
    extra = {f"blk.0.ffn_{part}_exps.scale": np.ones(8, np.float32) for part in ("down", "gate", "up")}
    path = write_tiny(tmp_path / "t.gguf", arch, extra_tensors=extra)
    with pytest.raises(MobiusError, match=r"3 tensor\(s\) .* have no place .*ffn_down_exps\.scale"):
        export(path, tmp_path / "onnx")
