"""Numbers that no model has: refused before anything is made of them."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from repack.errors import MobiusError
from tests.support.tiny import write_tiny

FREQS = np.full(16, 1.0, np.float32)


def refusal(path: Path) -> str:
    """What planning or writing says; in well under a second."""
    start = time.monotonic()
    with GgufFile.open(path) as source, pytest.raises(MobiusError) as found:
        plan = make_plan(source, choose_target("cpu"))
        for value in plan.graph.initializers.values():
            if value.compute is not None:
                value.compute()
    assert time.monotonic() - start < 10
    return found.value.message


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("rope.freq_base", 0.0, "rope.freq_base is 0.0"), ("rope.freq_base", -5.0, "not a number from"),
        ("rope.freq_base", math.nan, "not a finite number"),
        ("attention.layer_norm_rms_epsilon", -1e-5, "not a number from"),
        ("rope.scaling.attn_factor", 1e38, "not a number from"), ("block_count", 2**31 - 1, "tensors of 2 layers"),
        ("block_count", 3, "tensors of 2 layers"), ("attention.head_count_kv", [2, 4], "one whole number"),
    ],
)  # fmt: skip
def test_metadata(tmp_path: Path, key: str, value: Any, told: str) -> None:
    assert told in refusal(write_tiny(tmp_path / "t.gguf", "llama", extra_metadata={f"llama.{key}": value}))


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf])
def test_factors(tmp_path: Path, bad: float) -> None:
    factors = FREQS.copy()
    factors[3] = bad
    path = write_tiny(tmp_path / "t.gguf", "llama", head_dim=32, extra_tensors={"rope_freqs.weight": factors})
    assert "factors of rotary frequencies" in refusal(path)


@pytest.mark.parametrize("kind", ["F32", "F16"])
@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_weights(tmp_path: Path, kind: str, bad: float) -> None:
    values = np.ones((64, 32), np.float16 if kind == "F16" else np.float32)
    values[5, 7] = bad
    path = write_tiny(tmp_path / "t.gguf", "llama", n_embd=32, n_ff=64, head_dim=16, n_head=2, n_kv=1,
                      extra_tensors={"blk.1.ffn_up.weight": values})  # fmt: skip
    assert "blk.1.ffn_up.weight: the file holds a weight that is not a finite number" in refusal(path)
