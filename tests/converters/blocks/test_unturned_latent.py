"""Latent attention whose keys and values are made by one tensor, as older files have it, or by two."""

from pathlib import Path

import numpy as np

from tests.support.any_arch import CONTEXT, llama_logits, write_arch
from tests.support.any_arch import _tensors as tensors_of
from tests.support.arch_cases import all_cases
from tests.support.oracle import require_llama
from tests.support.runner import export, prompt
from tests.support.tiny import encode, write_file

require_llama()
HEADS, NOPE, VALUE, RANK = 4, 64, 64, 96


def test_one_tensor_for_keys_and_values(tmp_path: Path) -> None:
    """The same numbers as two tensors, which alone llama.cpp takes for this architecture."""
    case = all_cases()["kimi-linear: dense"]
    ids, tensors = prompt(case.length, 320), tensors_of(case, 0)
    wanted = llama_logits(write_arch(tmp_path / "two.gguf", case), ids, CONTEXT)
    keys, values = tensors.pop("blk.1.attn_k_b.weight"), tensors.pop("blk.1.attn_v_b.weight")
    assert (keys.shape, values.shape) == ((HEADS, RANK, NOPE), (HEADS, VALUE, RANK))
    both = np.concatenate([keys.transpose(0, 2, 1), values], axis=1)
    tensors["blk.1.attn_kv_b.weight"] = both.reshape(HEADS * (NOPE + VALUE), RANK)
    stored = {name: encode(value, "F32") for name, value in tensors.items()}
    path = write_file(tmp_path / "one.gguf", case.arch, case.metadata, stored)
    _, session = export(path, tmp_path / "out", ep="cpu", accuracy_level=0)
    np.testing.assert_allclose(session.logits(ids, None), wanted, atol=case.tolerance, rtol=0)
