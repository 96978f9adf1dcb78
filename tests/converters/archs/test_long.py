"""What shows behind thousands of tokens only, where files cannot ask for less: chunks, windows, sharper queries."""

from pathlib import Path

import numpy as np
import pytest

from repack.errors import MobiusError
from tests.support.any_arch import Case, llama_logits, write_arch
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES
from tests.support.oracle import require_llama
from tests.support.runner import F32, export, prompt

require_llama()
PIECE, SHOWN = 1024, 128
TOLERANCE = 5e-3  # llama.cpp turns by angles that are products of many float32 numbers: 2e-3 at such positions
TINY = {
    "embedding_length": 64, "attention.head_count": 1, "attention.head_count_kv": 1, "feed_forward_length": 64,
    "expert_feed_forward_length": 32, "expert_count": 3, "expert_used_count": 1, "context_length": 16384,
}  # fmt: skip
CHUNK, WINDOW = 8192, 4096
SHARP = {r"blk\.3\.attn_q": lambda rng, shape: rng.standard_normal(shape)}  # so that a sharper query shows


def model(path: Path, arch: str, **keys: object) -> Path:
    return write_arch(path, Case(arch, keys={**TINY, **keys}, values={**SPREAD, **SHARP}, drop=BIASES))


def logits(path: Path, folder: Path, ids: list[int], ep: str, context: int) -> F32:
    """Of the text in pieces."""
    _, session = export(path, folder, ep=ep, accuracy_level=0, context_length=context)
    pieces = [PIECE] * (len(ids) // PIECE)
    return session.logits(ids, [*pieces, *([len(ids) % PIECE] if len(ids) % PIECE else [])])


def test_chunks(tmp_path: Path) -> None:
    """Beyond a chunk on the target that has them; up to its last token, where queries sharpen already, on both."""
    path = model(tmp_path / "t.gguf", "llama4", interleave_moe_layer_step=2, block_count=4)
    ids = prompt(CHUNK + SHOWN, 320)
    wanted = llama_logits(path, ids, CHUNK + 256)
    found = logits(path, tmp_path / "onnx", ids, "onnx", CHUNK + SHOWN)
    np.testing.assert_allclose(found, wanted, atol=TOLERANCE, rtol=0)
    found = logits(path, tmp_path / "cpu", ids[:CHUNK], "cpu", CHUNK)
    np.testing.assert_allclose(found, wanted[:CHUNK], atol=TOLERANCE, rtol=0)
    with pytest.raises(MobiusError, match="cpu has no chunked attention, and the context of 8193 tokens is longer"):
        export(path, tmp_path / "no", context_length=CHUNK + 1)


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_windows(tmp_path: Path, ep: str) -> None:
    path = model(
        tmp_path / "t.gguf", "smallthinker", expert_gating_func=2, block_count=3, **{"attention.sliding_window": 16}
    )
    ids = prompt(WINDOW + SHOWN, 320)
    wanted = llama_logits(path, ids, WINDOW + 256)
    found = logits(path, tmp_path / ep, ids, ep, WINDOW + SHOWN)
    np.testing.assert_allclose(found, wanted, atol=TOLERANCE, rtol=0)
