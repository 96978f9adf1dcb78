"""Mixtures that stay quantized, against llama.cpp on the float copy: types alone and mixed, and batches of texts."""

from pathlib import Path

import numpy as np
import pytest

from tests.converters.blocks.test_padding import LENGTHS, STEPS, batch_logits
from tests.support.any_arch import CONTEXT, check_arch, llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.f32 import dequantized_copy
from tests.support.oracle import require_llama
from tests.support.runner import export, prompt
from tests.support.tiny import Types

require_llama()
MIXED: Types = {  # another type for each projection, and for the layers' down projections
    r"blk\.0\.ffn_down_exps": "Q6_K", "ffn_down_exps": "Q8_0", "ffn_gate_exps": "Q4_K", "_exps": "Q5_K", "": "Q4_0",
}  # fmt: skip
CASES: list[tuple[str, Types]] = [
    ("qwen3moe: usual", MIXED), ("qwen3moe: scales", "NVFP4"), ("llama: experts", "Q4_0"), ("gpt-oss: usual", "MXFP4"),
    ("deepseek2: deepseek2 absorbed, groups, yarn", "Q4_K"), ("qwen35moe: experts", "Q6_K"),
    ("glm4moe: glm4moe usual", "Q8_0"), ("gemma4: experts, scaled, gate and up as one", "Q4_K"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "types"), CASES, ids=lambda value: value if isinstance(value, str) else "mixed")
def test_equals_llama_cpp(tmp_path: Path, name: str, types: Types) -> None:
    path = write_arch(tmp_path / "t.gguf", all_cases()[name], types)
    check_arch(path, all_cases()[name], ("cpu", "onnx"), floats=dequantized_copy(path, tmp_path / "floats"))


@pytest.mark.parametrize(("ep", "side"), [("onnx", "left"), ("onnx", "right"), ("cpu", "right")])
def test_batches(tmp_path: Path, ep: str, side: str) -> None:
    """Each row is its text alone, whatever the padding beside it chooses."""
    case = all_cases()["qwen3moe: usual"]
    path = write_arch(tmp_path / "t.gguf", case, MIXED)
    floats = dequantized_copy(path, tmp_path / "floats")
    _, session = export(path, tmp_path / "onnx", ep=ep, accuracy_level=0)
    texts = [prompt(length + STEPS, 320, seed) for seed, length in enumerate(LENGTHS)]
    for text, found in zip(texts, batch_logits(session, texts, side), strict=True):
        np.testing.assert_allclose(found, llama_logits(floats, text, CONTEXT), atol=case.tolerance, rtol=0)
