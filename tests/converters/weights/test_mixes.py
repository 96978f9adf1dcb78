"""Mixtures of types as llama.cpp makes them: kept per tensor, right, and no larger than the bars."""

from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np
import pytest

from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from tests.support.llama_quantize import quantize_file
from tests.support.oracle import require_llama
from tests.support.runner import export, llama_logits, prompt
from tests.support.tiny import write_tiny

require_llama()
MIXES = [
    "Q2_K_S", "Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K",
    "IQ4_XS", "IQ3_M", "IQ2_M", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0",
]  # fmt: skip
FAST = {"Q4_0": 1.03, "Q8_0": 1.03, "Q4_1": 1.12}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A float16 model in realistic proportions: much more in matrices than in the vocabulary."""
    path = tmp_path_factory.mktemp("mix") / "f16.gguf"
    yield write_tiny(path, "llama", types="F16", n_embd=512, n_head=8, n_kv=2, n_ff=1536, n_layer=4, n_vocab=2048)


@pytest.mark.parametrize("mix", MIXES)
def test_mix(source: Path, tmp_path: Path, mix: str) -> None:
    # The bars of `fast` are per type: llama.cpp makes the head of a Q4_0 file Q6_K unless told otherwise.
    path = quantize_file(source, tmp_path / f"{mix}.gguf", mix, pure=mix in FAST)
    reader = gguf.GGUFReader(path)
    used = {t.tensor_type.name for t in reader.tensors}
    tensors = sum(int(t.n_bytes) for t in reader.tensors)
    for storage in ("fast", "small"):
        with GgufFile.open(path) as opened:
            plan = make_plan(opened, choose_target("cpu", storage=storage))
            kept = {r.source_type for r in plan.weights.records.values()}
            assert kept == used  # nothing was normalised to another type
            ratio = sum(r.stored_bytes for r in plan.weights.records.values()) / tensors
        assert ratio <= (1.03 if storage == "small" else FAST.get(mix, 5.0)), (storage, ratio)


@pytest.mark.parametrize("mix", ["Q2_K", "Q3_K_M", "Q4_K_M", "Q5_K_M", "IQ2_M"])
def test_mix_runs(tmp_path: Path, mix: str) -> None:
    small = write_tiny(tmp_path / "f16.gguf", "llama", types="F16", n_embd=256, n_ff=512, n_layer=4)
    path = quantize_file(small, tmp_path / "q.gguf", mix)
    ids = prompt(12, 320)
    wanted = llama_logits(path, tmp_path, ids)
    for storage in ("fast", "small"):
        _, session = export(path, tmp_path / storage, accuracy_level=0, storage=storage)
        np.testing.assert_allclose(session.logits(ids), wanted, atol=1e-4, rtol=0)
