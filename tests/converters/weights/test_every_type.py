"""A whole tiny model of each quantized type, against llama.cpp on its float32 copy."""

import struct
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from repack.quant_type import BLOCK_SIZES
from repack.registry import QUANT_TYPES
from tests.support.blocks import random_blocks, reference
from tests.support.oracle import require_llama
from tests.support.runner import check_model, export, llama_logits, prompt
from tests.support.tiny import write_tiny

require_llama()
TYPES = [name for name in sorted(QUANT_TYPES) if name in gguf.GGMLQuantizationType.__members__]  # Q2_0 is newer
SHAPES = {
    "token_embd": (320, 256), "output": (320, 256), "attn_q": (256, 256), "attn_k": (128, 256), "attn_v": (128, 256),
    "attn_output": (256, 256), "ffn_gate": (512, 256), "ffn_up": (512, 256), "ffn_down": (256, 512),
}  # fmt: skip


def calm_blocks(name: str, rows: int, columns: int, seed: int) -> np.ndarray[Any, Any]:
    """Random blocks whose weights have a deviation of about 0.04: 256 inputs make numbers of about 1."""
    count = columns // BLOCK_SIZES[name][0]
    ones = np.array([1.0], np.float16)
    if name in ("MXFP4", "NVFP4"):
        raw = random_blocks(name, rows, count, seed).reshape(-1, BLOCK_SIZES[name][1])
        raw[:, : {"MXFP4": 1, "NVFP4": 4}[name]] = {"MXFP4": 121, "NVFP4": 9}[name]
        return raw.reshape(rows, -1)
    deviation = reference(random_blocks(name, 16, count, seed, ones), name).std()
    scales = (np.random.default_rng(seed).uniform(0.5, 1.5, 64) * 0.04 / deviation).astype(np.float16)
    return random_blocks(name, rows, count, seed, scales)


def tensors(name: str) -> dict[str, tuple[np.ndarray[Any, Any], str]]:
    made = {}
    for seed, (stem, shape) in enumerate(SHAPES.items()):
        for prefix in ("",) if stem in ("token_embd", "output") else ("blk.0.", "blk.1."):
            made[f"{prefix}{stem}.weight"] = (calm_blocks(name, *shape, seed=seed + 100 * len(made)), name)
    return made


@pytest.mark.parametrize("name", TYPES)
def test_model_of_one_type(tmp_path: Path, name: str) -> None:
    """Float activations, both storages and dequantized; every position and cached steps."""
    _, wanted = check_model(tmp_path, "llama", extra_tensors=tensors(name))
    assert 0.2 < wanted.std() < 30
    ids = prompt(24, 320)
    for choices in ({"storage": "small"}, {"dequantize": True}):
        plan, session = export(tmp_path / "tiny.gguf", tmp_path / "other", accuracy_level=0, **choices)
        np.testing.assert_allclose(session.logits(ids), wanted, atol=1e-4, rtol=0)
        kept = plan.weights.records["blk.0.ffn_down.weight"]
        assert kept.exact
        if "storage" in choices:
            assert kept.stored_bytes <= 1.03 * kept.source_bytes


@pytest.mark.parametrize("name", TYPES)
def test_float16_graph(tmp_path: Path, name: str) -> None:
    """float16 activations and scales: near, and what was rounded is counted."""
    path = write_tiny(tmp_path / "tiny.gguf", "llama", extra_tensors=tensors(name))
    ids = prompt(12, 320)
    wanted = export(path, tmp_path / "wide", accuracy_level=0)[1].logits(ids)
    for storage in ("fast", "small"):
        plan, session = export(path, tmp_path / storage, accuracy_level=0, dtype="f16", storage=storage)
        assert np.abs(session.logits(ids) - wanted).max() < 0.03 * wanted.std()
        notes = plan.weights.records["blk.0.ffn_up.weight"].roundings
        assert all(note.max_relative_error <= 2**-11 for kind, note in notes.items() if not note.subnormal)


def test_types_whose_tables_have_the_same_bytes(tmp_path: Path) -> None:
    """A table of IQ1_M and a later one of IQ2_S hold the same bytes in other shapes: each stands under its own name."""
    names = ("IQ1_M", "IQ2_S")
    extra = {f"blk.{i}.ffn_up.weight": (calm_blocks(name, 512, 256, i), name) for i, name in enumerate(names)}
    _, wanted = check_model(tmp_path, "llama", extra_tensors=extra)
    plan, session = export(tmp_path / "tiny.gguf", tmp_path / "small", accuracy_level=0, storage="small")
    np.testing.assert_allclose(session.logits(prompt(24, 320)), wanted, atol=1e-4, rtol=0)
    tables = [name for name in plan.graph.initializers if name.startswith("table_")]
    assert any(name.endswith("_1") for name in tables), tables  # else this proves nothing


def test_quantized_norms_and_biases(tmp_path: Path) -> None:
    """No tool writes them, but a file may hold them: they are dequantized, exactly."""
    extra = {}
    for stem in ("blk.0.attn_norm.weight", "blk.1.attn_q.bias"):
        values = np.random.default_rng(2).uniform(0.5, 1.5, 256).astype(np.float32)
        extra[stem] = (gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0), "Q8_0")
    check_model(tmp_path, "llama", extra_tensors=extra, biases=("attn_q",))


def test_model_of_q2_0(tmp_path: Path) -> None:
    """The gguf package cannot write type 42: the tensors are written as bytes, and their headers changed."""
    made = {name: blocks for name, (blocks, _) in tensors("Q2_0").items()}
    as_bytes = {name: (blocks.view(np.int8), "I8") for name, blocks in made.items()}
    path = write_tiny(tmp_path / "tiny.gguf", "llama", extra_tensors=as_bytes)
    raw = bytearray(path.read_bytes())
    for name, blocks in made.items():
        key = struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", 2)
        at = raw.index(key) + len(key)
        weights, size = BLOCK_SIZES["Q2_0"]
        assert struct.unpack_from("<QQI", raw, at) == (blocks.shape[1], blocks.shape[0], 24)
        struct.pack_into("<QQI", raw, at, blocks.shape[1] // size * weights, blocks.shape[0], 42)
    path.write_bytes(raw)
    floats = {name: reference(blocks, "Q2_0") for name, blocks in made.items()}
    wide = write_tiny(tmp_path / "wide.gguf", "llama", extra_tensors=floats)
    ids = prompt(24, 320)
    wanted = llama_logits(wide, tmp_path, ids)
    for storage in ("fast", "small"):
        _, session = export(path, tmp_path / storage, accuracy_level=0, storage=storage)
        np.testing.assert_allclose(session.logits(ids), wanted, atol=1e-4, rtol=0)
