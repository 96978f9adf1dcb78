"""The F32 copy: the same model for every storage type, and nothing else changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.f32 import dequantized_copy, values_of
from tests.support.oracle import LlamaModel, require_llama
from tests.support.tiny import ARCHS, write_tiny

require_llama()

IDS = [int(token) for token in np.random.default_rng(0).integers(3, 320, 24)]
# Without IQ1 and IQ2: their encoders prepare tables for up to ten seconds.
# fmt: off
QUANTIZED = [
    "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
    "IQ3_XXS", "IQ3_S", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4", "Q1_0",
]
# fmt: on


def logits(path: Path) -> NDArray[Any]:
    with LlamaModel(path) as model:
        return model.logits(IDS)


@pytest.mark.parametrize("arch", ARCHS)
def test_f32_copy_is_the_quantized_model_without_noise(tmp_path: Path, arch: str) -> None:
    source = write_tiny(tmp_path / "q.gguf", arch, types="Q4_K")
    copy = dequantized_copy(source, tmp_path / "f.gguf")
    noisy, exact = logits(source), logits(copy)
    full = logits(write_tiny(tmp_path / "full.gguf", arch))
    assert 1e-3 < np.abs(noisy - exact).max() < 0.4
    assert np.std(noisy - exact) < 0.06 < np.std(full - exact)
    assert {t.tensor_type.name for t in gguf.GGUFReader(copy).tensors} == {"F32"}


@pytest.mark.parametrize("kind", QUANTIZED)
def test_every_type_runs_and_decodes(tmp_path: Path, kind: str) -> None:
    source = write_tiny(tmp_path / "q.gguf", "llama", types={"attn_v": kind}, n_layer=1, n_kv=1)
    copy = dequantized_copy(source, tmp_path / "f.gguf")
    noisy, exact = logits(source), logits(copy)
    full = logits(write_tiny(tmp_path / "full.gguf", "llama", n_layer=1, n_kv=1))
    assert np.std(noisy - exact) < 0.03
    assert np.std(full - exact) > 1e-3


def test_f32_copy_keeps_metadata_and_values(tmp_path: Path) -> None:
    types = {"norm": "F16", "bias": "BF16", "output": "Q8_0"}
    extra = {"qwen2.flags": [True, False]}
    source = tmp_path / "q.gguf"
    write_tiny(source, "qwen2", types=types, order="reverse", tokenizer="spm", extra_metadata=extra)
    before, after = gguf.GGUFReader(source), gguf.GGUFReader(dequantized_copy(source, tmp_path / "f.gguf"))
    changed = {"general.file_type", *(key for key in before.fields if key.startswith("GGUF."))}
    assert before.fields.keys() == after.fields.keys()
    for key in before.fields.keys() - changed:
        assert before.fields[key].contents() == after.fields[key].contents(), key
        assert before.fields[key].types == after.fields[key].types, key
    for ours, theirs in zip(before.tensors, after.tensors, strict=True):
        assert ours.name == theirs.name
        assert np.array_equal(values_of(ours), values_of(theirs))
