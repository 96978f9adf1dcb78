"""The oracle and the tiny files themselves: llama.cpp runs them, and every option really reaches its logits.

What llama.cpp ignores or refuses is pinned here too, since the converter has to do the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.oracle import LlamaError, LlamaModel, load_error, require_llama
from tests.support.tiny import ARCHS, write_tiny

require_llama()

IDS = [int(token) for token in np.random.default_rng(0).integers(3, 320, 24)]
FREQS = [1.0] * 10 + [2.7] + [8.0] * 21
YARN = {"rope_scaling": "yarn", "rope_original_context": 64}
TWO = np.full(1, 2, np.float32)
BASES: dict[str, NDArray[Any]] = {}
Case = tuple[str, dict[str, Any]]


def logits(folder: Path, arch: str, **options: Any) -> NDArray[Any]:
    with LlamaModel(write_tiny(folder / "tiny.gguf", arch, **options)) as model:
        return model.logits(IDS)


def changes(folder: Path, arch: str, options: dict[str, Any], base: dict[str, Any]) -> NDArray[Any]:
    """Largest difference of a logit, per position, that the options make over the base."""
    key = repr((arch, base))
    if key not in BASES:
        BASES[key] = logits(folder, arch, **base)
    changed = logits(folder, arch, **{**base, **options}) - BASES[key]
    return np.asarray(np.abs(changed).max(axis=1))


def label(value: object) -> str | None:
    return value if isinstance(value, str) else ",".join(map(str, value)) if isinstance(value, dict) else None


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_embd": 384, "head_dim": 96, "n_ff": 320, "n_vocab": 301},
        {"n_head": 4, "n_kv": 4, "seed": 3, "tokenizer": "bpe"},
        {"tied": True, "n_kv": 1, "order": "reverse", "tokenizer": "spm"},
        {"types": {"attn_v|ffn_down": "Q6_K", "weight": "Q4_K"}},
    ],
    ids=label,
)
def test_every_arch_runs_and_greedy_is_the_argmax(tmp_path: Path, arch: str, options: dict[str, Any]) -> None:
    ids = [token % 301 for token in IDS]
    with LlamaModel(write_tiny(tmp_path / "tiny.gguf", arch, **options)) as model:
        prompt = model.logits(ids)
        assert prompt.shape == (len(ids), options.get("n_vocab", 320))
        assert 0.5 < prompt.std() < 2
        following = model.greedy(ids, 6)
        forced = model.logits(ids + following)[len(ids) - 1 : -1]
    top = np.sort(forced, axis=1)
    # One token at a time sums in another order than a batch; only a near tie may fall the other way.
    near = top[:, -1] - top[:, -2] < (0.05 if "types" in options else 1e-4)
    assert np.all((forced.argmax(axis=1) == following) | near)


@pytest.mark.parametrize("arch", ["llama", "qwen3", "gemma3"])
def test_queries_wider_than_the_model(tmp_path: Path, arch: str) -> None:
    assert 0.5 < logits(tmp_path, arch, head_dim=128).std() < 2


def test_files_depend_on_seed_and_name_only(tmp_path: Path) -> None:
    first, again, tied = (tmp_path / name for name in ("a", "b", "c"))
    write_tiny(first, "llama")
    write_tiny(again, "llama")
    write_tiny(tied, "llama", tied=True)
    assert first.read_bytes() == again.read_bytes()
    ours, theirs = ({t.name: t.data for t in gguf.GGUFReader(path).tensors} for path in (first, tied))
    assert set(ours) - set(theirs) == {"output.weight"}
    assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)
    assert logits(tmp_path, "llama", seed=1).tolist() != logits(tmp_path, "llama").tolist()


def test_positions_move_together(tmp_path: Path) -> None:
    with LlamaModel(write_tiny(tmp_path / "tiny.gguf", "gemma3")) as model:
        near, far = model.logits(IDS), model.logits(IDS, list(range(4000, 4000 + len(IDS))))
        with pytest.raises(ValueError, match="consecutive"):
            model.logits([1, 2, 3], [0, 1, 4000])
    assert 0 < np.abs(near - far).max() < 0.02


ROPE: list[Case] = [
    *[(arch, {"rope_scaling": "linear"}) for arch in ARCHS],
    *[(arch, YARN) for arch in ARCHS],
    *[(arch, {"rope_attn_factor": 1.5}) for arch in ARCHS],
    *[(arch, {"rope_base": 5000}) for arch in ARCHS],
    *[(arch, {"extra_metadata": {f"{arch}.rope.scale_linear": 4.0}}) for arch in ARCHS],
    ("llama", {"rope_freqs": FREQS}),
    ("llama", {"biases": ["attn_q"]}),
    ("llama", {"biases": ["attn_k"]}),
    ("qwen2", {"biases": ["attn_q"]}),
    ("qwen2", {"biases": ["attn_k"]}),
    ("gemma3", {"rope_dim": 32}),
    ("gemma3", {"rope_base_swa": 500}),
]


@pytest.mark.parametrize(("arch", "options"), ROPE, ids=label)
def test_rope_options_show_after_the_first_token(tmp_path: Path, arch: str, options: dict[str, Any]) -> None:
    found = changes(tmp_path, arch, options, {"biases": []})
    assert found[0] < 1e-5
    assert found[1:].min() > 5e-3
    assert found.max() > 0.1


ALL_POSITIONS: list[Case] = [
    *[("llama", {"biases": [stem]}) for stem in ("attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")],
    ("qwen2", {"biases": ["attn_v"]}),
    ("qwen2", {"biases": ["output"]}),
    ("qwen3", {"biases": ["attn_v"]}),
    ("gemma3", {"final_softcap": 1}),
    ("llama", {"extra_tensors": {"blk.0.ffn_up.scale": TWO}}),
    ("qwen2", {"extra_tensors": {"blk.0.attn_v.scale": TWO}}),
    *[(arch, {"extra_metadata": {f"{arch}.attention.causal": False}}) for arch in ARCHS],
]


@pytest.mark.parametrize(("arch", "options"), ALL_POSITIONS, ids=label)
def test_options_that_show_everywhere(tmp_path: Path, arch: str, options: dict[str, Any]) -> None:
    assert changes(tmp_path, arch, options, {"biases": []}).min() > 0.1


def test_window_shows_where_it_ends(tmp_path: Path) -> None:
    """A token sees itself and the 7 before it, in local layers; without a window no layer is local."""
    found = changes(tmp_path, "gemma3", {"sliding_window": 8}, {"sliding_window": 400})
    assert found[:8].max() < 1e-5
    assert found[8:].min() > 0.05
    assert changes(tmp_path, "gemma3", {"sliding_window": 0}, {"sliding_window": 400})[1:].min() > 0.01
    assert changes(tmp_path, "gemma3", {"sliding_window_pattern": 2}, {})[9:].min() > 0.05


def test_softcap_formula(tmp_path: Path) -> None:
    plain, capped = (logits(tmp_path, "gemma3", final_softcap=cap) for cap in (None, 2.0))
    assert np.allclose(capped, 2 * np.tanh(plain / 2), atol=1e-5)


IGNORED: list[Case] = [
    *[(arch, {"attn_softcap": 0.1}) for arch in ARCHS],
    *[(arch, {"final_softcap": 1, "sliding_window": 4}) for arch in ("llama", "qwen2", "qwen3")],
    *[(arch, {"rope_scaling": "none"}) for arch in ARCHS],
    *[(arch, {"rope_scaling": "linear", "rope_factor": None}) for arch in ARCHS],
    *[(arch, {"extra_metadata": {f"{arch}.attention.scale": 0.5}}) for arch in ARCHS],
    *[
        (arch, {"extra_metadata": {f"{arch}.rope.scaling.yarn_{name}": 8.0}, **YARN})
        for arch in ARCHS
        for name in ("beta_fast", "beta_slow", "attn_factor", "ext_factor", "log_multiplier")
    ],
    *[(arch, {"extra_tensors": {"blk.0.ffn_gate.scale": TWO}}) for arch in ("qwen2", "gemma3")],
    *[(arch, {"extra_tensors": {"blk.0.attn_q.input_scale": TWO}}) for arch in ARCHS],
]


@pytest.mark.parametrize(("arch", "options"), IGNORED, ids=label)
def test_what_llama_cpp_ignores(tmp_path: Path, arch: str, options: dict[str, Any]) -> None:
    base = YARN if options.items() >= YARN.items() else {}
    assert changes(tmp_path, arch, options, base).max() == 0


@pytest.mark.parametrize(
    ("arch", "options", "message"),
    [
        ("llama", {"rope_dim": 32}, "invalid n_rot: 32, expected 64"),
        ("qwen3", {"rope_freqs": FREQS}, "wrong number of tensors"),
        ("gemma3", {"biases": ["attn_output"]}, "wrong number of tensors"),
        ("llama", {"drop_tensors": [r"blk\.1\.attn_k\.weight"]}, "attn_k.weight' not found"),
        ("llama", {"drop_metadata": ["context_length"]}, "llama.context_length"),
        ("llama", {"value_dim": 32}, "wrong shape"),
        ("llama", {"extra_metadata": {"llama.rope.freq_base": 10000}}, "wrong type u32"),
    ],
    ids=label,
)
def test_what_llama_cpp_refuses(tmp_path: Path, arch: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(LlamaError, match=message):
        LlamaModel(write_tiny(tmp_path / "tiny.gguf", arch, **options))


@pytest.mark.parametrize(
    ("arch", "options"),
    [
        ("qwen2", {"rope_dim": 32}),
        ("llama", {"rope_scaling": "dynamic"}),
        ("llama", {"types": {"norm": "F16"}}),
        ("gemma3", {"sliding_window_pattern": 1}),
    ],
    ids=label,
)
def test_crashes_stay_in_the_child(tmp_path: Path, arch: str, options: dict[str, Any]) -> None:
    error = load_error(write_tiny(tmp_path / "tiny.gguf", arch, **options))
    assert error is not None
    assert "llama.cpp" in error


def test_load_error_accepts_good_files(tmp_path: Path) -> None:
    assert load_error(write_tiny(tmp_path / "tiny.gguf", "llama")) is None


def test_tokenize(tmp_path: Path) -> None:
    with LlamaModel(write_tiny(tmp_path / "tiny.gguf", "qwen2", tokenizer="bpe")) as model:
        assert model.tokenize("hello<|endoftext|>") == [259, 262]
    with LlamaModel(write_tiny(tmp_path / "tiny.gguf", "llama", tokenizer="spm")) as model:
        assert model.tokenize("ab") == [1, 259, 260, 261]
