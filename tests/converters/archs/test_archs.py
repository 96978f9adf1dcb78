"""Every architecture against llama.cpp: each feature is on in a model whose logits would show its absence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.archs.describe import describe
from converters.sources.gguf.file import GgufFile
from converters.spec import Attention
from repack.errors import MobiusError
from tests.support.oracle import require_llama
from tests.support.runner import LENGTH, check_model, export, prompt, tolerance, write_model
from tests.support.tiny import write_tiny

require_llama()

ALL_BIASES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_gate", "ffn_down")
FREQS = np.random.default_rng(1).uniform(1, 8, 32).astype(np.float32)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "llama tied": ("llama", {"tied": True}),
    "llama wide heads": ("llama", {"n_head": 4, "n_kv": 1, "head_dim": 96}),
    "llama many heads": ("llama", {"n_head": 8, "n_kv": 4, "head_dim": 32}),
    "llama frequency factors": ("llama", {"rope_freqs": FREQS, "rope_base": 500000.0}),
    "llama linear": ("llama", {"rope_scaling": "linear", "rope_factor": 4.0}),
    "llama yarn": ("llama", {"rope_scaling": "yarn", "rope_factor": 4.0, "rope_original_context": 128}),
    "llama yarn magnitude": (
        "llama",
        {"rope_scaling": "yarn", "rope_factor": 8.0, "rope_original_context": 64, "rope_attn_factor": 0.7},
    ),
    "llama biases": ("llama", {"biases": ALL_BIASES}),
    "llama bf16": ("llama", {"types": "BF16"}),
    "llama f16": ("llama", {"types": {"norm": "F16", ".": "F16"}}),
    "llama half norms": ("llama", {"types": {"norm": "BF16"}}),
    "qwen2": ("qwen2", {}),
    "qwen2 tied": ("qwen2", {"tied": True}),
    "qwen2 bias first": ("qwen2", {"order": "reverse"}),
    "qwen2 yarn": ("qwen2", {"rope_scaling": "yarn", "rope_factor": 4.0, "rope_original_context": 32}),
    "qwen3": ("qwen3", {}),
    "qwen3 wide": ("qwen3", {"head_dim": 128, "tied": True}),
    "gemma3": ("gemma3", {}),
    "gemma3 global linear": ("gemma3", {"rope_scaling": "linear", "rope_factor": 8.0, "sliding_window": 6}),
    "gemma3 no window": ("gemma3", {"sliding_window": 0, "rope_scaling": "linear", "rope_factor": 4.0}),
    "gemma3 pattern": ("gemma3", {"sliding_window_pattern": 3, "sliding_window": 5}),
    "gemma3 flags": ("gemma3", {"sliding_window_pattern": [True, False, True, True, False, True]}),
    "gemma3 partial rotary": ("gemma3", {"rope_dim": 32}),
    "gemma3 magnitude": ("gemma3", {"rope_attn_factor": 1.5}),
    "llama magnitude": ("llama", {"rope_attn_factor": 0.6}),
    "qwen2 head bias": ("qwen2", {"biases": ("attn_q", "attn_k", "attn_v", "output")}),
    "qwen3 biases": ("qwen3", {"biases": ("attn_q", "attn_k", "attn_v")}),
    "gemma3 local base": ("gemma3", {"rope_base_swa": 3000.0}),
    "gemma3 softcap": ("gemma3", {"final_softcap": 2.0}),
    "gemma3 window of one less": ("gemma3", {"sliding_window": 7}),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_equals_llama_cpp(tmp_path: Path, case: str) -> None:
    arch, options = CASES[case]
    check_model(tmp_path, arch, **options)


@pytest.mark.parametrize("arch", ["llama", "gemma3"])
def test_long_context(tmp_path: Path, arch: str) -> None:
    """Far beyond the window, and where slow rotary channels have turned."""
    check_model(tmp_path, arch, length=400, rope_base=5000.0)


MIXED = {
    "ffn_down": "Q6_K", "attn_v": "Q5_K", "attn_k": "Q5_0", "ffn_gate": "Q5_1", "token_embd": "Q8_0",
    "output": "Q4_1", "attn_q": "Q4_0", "norm": "F32", ".": "Q4_K",
}  # fmt: skip


def mixed(arch: str) -> dict[str, str]:
    """Every type; gemma's head is the embedding."""
    return MIXED if arch != "gemma3" else {**MIXED, "token_embd": "Q4_K"}


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "gemma3"])
def test_quantized_equals_dequantized(tmp_path: Path, arch: str) -> None:
    """A file with every type: kept quantized and dequantized give the same logits, and llama.cpp's."""
    _, wanted = check_model(tmp_path, arch, types=mixed(arch))
    for choices in ({"storage": "small"}, {"dequantize": True}):
        _, session = export(tmp_path / "tiny.gguf", tmp_path / "again", accuracy_level=0, **choices)
        ours = session.logits(prompt(LENGTH, 320))
        np.testing.assert_allclose(ours, wanted, atol=tolerance(arch), rtol=0)


@pytest.mark.parametrize("arch", ["llama", "qwen2", "qwen3", "gemma3"])
def test_float16_graph(tmp_path: Path, arch: str) -> None:
    """float16 activations: near the float32 ones, not equal; scales that are products were rounded and counted."""
    path, ids = write_model(tmp_path / "tiny.gguf", arch, types=mixed(arch)), prompt(LENGTH, 320)
    wanted = export(path, tmp_path / "wide", accuracy_level=0)[1].logits(ids)
    plan, session = export(path, tmp_path / "half", accuracy_level=0, dtype="f16")
    assert 1e-4 < np.abs(session.logits(ids) - wanted).max() < 0.05 * wanted.std()
    note = plan.weights.records["blk.0.ffn_down.weight"].roundings["scale"]
    assert note.rounded > 0
    assert note.max_relative_error <= 2**-11


def test_gemma3_layers_and_scales(tmp_path: Path) -> None:
    """Numbers fixed by the architecture, not by the file."""
    path = write_tiny(tmp_path / "g.gguf", "gemma3", sliding_window=5)
    with GgufFile.open(path) as source:
        spec, _ = describe(source)
    assert [module.window for module in spec.modules() if isinstance(module, Attention)] == [5, 5, 5, 5, 5, None]
    thetas = [m.rope.theta for m in spec.modules() if isinstance(m, Attention) and m.rope]
    assert thetas == [10000.0] * 5 + [1e6]
    assert spec.embedding_scale == 16.0
    assert spec.tied_head


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rope_scaling": "longrope"}, "no rope_factors_long or _short tensors"),
        ({"rope_scaling": "yarn", "rope_factor": None}, "rope.scaling.factor is 0"),
        ({"drop_metadata": ["block_count"]}, "no key llama.block_count"),
        ({"extra_metadata": {"llama.expert_count": 8}}, "no key llama.expert_used_count"),
        ({"extra_metadata": {"llama.expert_count": 8, "llama.expert_used_count": 9}}, "9 of 8 experts"),
        ({"extra_metadata": {"llama.expert_count": 8, "llama.expert_used_count": 2}}, "ffn_gate_inp.weight is missing"),
        ({"extra_metadata": {"llama.logit_scale": 0.5}}, "llama.logit_scale = 0.5 is not supported"),
        ({"drop_tensors": ["blk.1.ffn_norm.weight"]}, "tensor blk.1.ffn_norm.weight is missing"),
        ({"extra_tensors": {"blk.0.mystery.weight": np.ones(4, np.float32)}}, "blk.0.mystery.weight"),
        ({"extra_tensors": {"blk.0.ffn_down.weight": (np.ones((256, 512), np.int32), "I32")}}, "is of type I32"),
        ({"extra_tensors": {"rope_freqs.weight": np.ones(31, np.float32)}}, r"shape \[31\]"),
        ({"extra_metadata": {"llama.attention.causal": False}}, "attention.causal = False is not supported"),
        ({"tokenizer": "bpe", "extra_metadata": {"tokenizer.ggml.tokens": ["a"] * 300}}, "300 tokens, but .* 320 rows"),
        ({"rope_dim": 32}, "rope.dimension_count 32 differs"),
        ({"rope_scaling": "dynamic"}, "rope.scaling.type 'dynamic' is not supported"),
    ],
)
def test_refusals(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = write_tiny(tmp_path / "t.gguf", "llama", **options)
    with pytest.raises(MobiusError, match=message):
        export(path, tmp_path / "onnx")


def test_harmless_keys_pass_and_strange_ones_warn(tmp_path: Path) -> None:
    extra = {"llama.expert_count": 0, "llama.some_training_note": "x"}
    plan, _ = export(write_tiny(tmp_path / "t.gguf", "llama", extra_metadata=extra), tmp_path / "onnx")
    assert [w for w in plan.warnings if "some_training_note" in w]
