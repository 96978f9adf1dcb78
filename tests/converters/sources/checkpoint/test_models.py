"""Whole models from Hugging Face folders: logits against llama.cpp on the same weights, stored numbers bit for bit."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.sources.open import open_source
from converters.target import choose_target
from tests.support import checkpoint as tiny
from tests.support.any_arch import llama_logits
from tests.support.runner import TOLERANCE, TinySession, prompt
from tests.support.tiny import encode, write_file

IDS = prompt(40, tiny.VOCAB)
LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 3.0}
NEW = {"rope_theta": None, "rope_parameters": {"rope_theta": tiny.THETA, "rope_type": "default"}, "torch_dtype": None}


def check(
    tmp: Path,
    kind: str,
    config: dict[str, Any],
    tensors: Any,
    weights: Any,
    shards: int = 1,
    more: Any = None,
    tolerance: float = TOLERANCE,
    **keys: Any,
) -> None:
    """`kind` and `keys` are those of the GGUF, which has `more` tensors."""
    folder = tiny.write_checkpoint(tmp / "model", config, tensors, shards)
    stored = {**tiny.gguf_tensors(kind, weights), **(more or {})}
    gguf = write_file(tmp / "f32.gguf", kind, tiny.gguf_metadata(kind, **keys), stored)
    wanted = llama_logits(gguf, IDS, 256)
    assert wanted.std() > 0.1
    for ep in ("cpu", "onnx"):
        with open_source(folder) as source:
            plan = make_plan(source, choose_target(ep, **({"accuracy_level": 0} if ep == "cpu" else {})))
            (tmp / ep).mkdir()
            write_graph(plan.graph, tmp / ep, {}, ("test", "0"))
        session = TinySession(tmp / ep, plan.states)
        for steps in (None, [len(IDS) - 8, *[1] * 8]):
            assert np.abs(session.logits(IDS, steps) - wanted).max() < tolerance


@pytest.mark.parametrize(
    ("kind", "dtype", "changes", "shards", "keys"),
    [
        ("llama", "BF16", {}, 1, {}),
        ("llama", "F16", {"rope_scaling": {"type": "linear", "factor": 3.0}}, 3, LINEAR),
        ("qwen2", "F32", {"use_sliding_window": False, "sliding_window": 16, "max_window_layers": 1}, 1, {}),
        ("qwen3", "BF16", {**NEW, "layer_types": ["full_attention"] * 2}, 2, {}),
    ],
)
def test_plain(tmp_path: Path, kind: str, dtype: str, changes: Any, shards: int, keys: Any) -> None:
    weights = tiny.weights_of(kind)
    tensors = {name: tiny.stored(values, dtype) for name, values in weights.items()}
    check(tmp_path, kind, tiny.config_of(kind, **changes), tensors, weights, shards, **keys)


LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}


def slowed(factor: float, low: float, high: float, context: int) -> list[float]:
    """Llama 3.1's divisors of the frequencies, one by one, as its own program has them."""
    found = []
    for channel in range(0, tiny.DIM, 2):
        length = 2 * math.pi * tiny.THETA ** (channel / tiny.DIM)  # of a turn, in tokens
        if length < context / high:
            found.append(1.0)
        elif length > context / low:
            found.append(factor)
        else:
            smooth = (context / length - low) / (high - low)
            found.append(1 / ((1 - smooth) / factor + smooth))
    return found


@pytest.mark.parametrize("spelling", ["rope_scaling", "rope_parameters"])
def test_llama3(tmp_path: Path, spelling: str) -> None:
    factors = slowed(*LLAMA3.values())  # type: ignore[arg-type]
    assert {1.0, 8.0} < set(factors)
    weights = tiny.weights_of("llama")
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items()}
    given = {"rope_type": "llama3", **LLAMA3, **({"rope_theta": tiny.THETA} if spelling == "rope_parameters" else {})}
    config = tiny.config_of("llama", **{spelling: given})
    freqs = encode(np.array(factors, np.float32), "F32")
    check(tmp_path, "llama", config, tensors, weights, more={"rope_freqs.weight": freqs})


YARN = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 32}
GRANITE = {"embedding_multiplier": 3.0, "residual_multiplier": 0.4, "attention_multiplier": 0.2, "logits_scaling": 2.0}
GRANITE_KEYS = {"embedding_scale": 3.0, "residual_scale": 0.4, "attention.scale": 0.2, "logit_scale": 2.0}


STRETCHED = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}}
NOPE = {"no_rope_layers": [1, 1, 1, 0], "no_rope_layer_interval": 4, "num_hidden_layers": 4}
RELATIVES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("mistral", "llama", {"sliding_window": None}, {}),
    ("granite", "granite", GRANITE, GRANITE_KEYS),
    ("qwen3", "qwen3", STRETCHED, YARN),
    ("smollm3", "smollm3", NOPE, {}),
]


@pytest.mark.parametrize(("kind", "arch", "changes", "keys"), RELATIVES)
def test_relatives(
    tmp_path: Path, kind: str, arch: str, changes: Any, keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny, "LAYERS", changes.get("num_hidden_layers", tiny.LAYERS))
    base = "qwen3" if kind == "qwen3" else "llama"
    weights = tiny.weights_of(base)
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items()}
    check(tmp_path, arch, {**tiny.config_of(base, model_type=kind), **changes}, tensors, weights, **keys)


def packed(kind: str, bits: int, group: int | None) -> tuple[dict[str, Any], dict[str, tiny.Packed], Any]:
    weights = tiny.weights_of(kind)
    made = tiny.pack(weights, bits, group)
    tensors = {n: tiny.stored(v, "BF16") for n, v in weights.items() if n.removesuffix(".weight") not in made}
    for stem, one in made.items():
        tensors |= tiny.packed_tensors(stem, one)
        weights[f"{stem}.weight"] = one.values
    return tensors, made, weights


FORMS = [("llama", 4, 32), ("qwen2", 8, 64), ("qwen3", 4, 128), ("llama", 8, None)]


@pytest.mark.parametrize(("kind", "bits", "group"), FORMS)
def test_packed(tmp_path: Path, kind: str, bits: int, group: int | None) -> None:
    tensors, _, weights = packed(kind, bits, group)
    config = tiny.config_of(kind, quantization_config=tiny.packing(bits, group))
    check(tmp_path, kind, config, tensors, weights, shards=2)


@pytest.mark.parametrize(("kind", "bits", "group"), FORMS)
def test_packed_numbers(tmp_path: Path, kind: str, bits: int, group: int | None) -> None:
    """Codes, scales and values bit for bit; rows in another order too."""
    tensors, made, _ = packed(kind, bits, group)
    config = tiny.config_of(kind, quantization_config=tiny.packing(bits, group))
    with CheckpointFolder.open(tiny.write_checkpoint(tmp_path, config, tensors)) as source:
        for layer in range(tiny.LAYERS):
            for theirs, ours in tiny.LAYER_NAMES.items():
                one = made.get(f"model.layers.{layer}.{theirs}")
                if one is None:
                    continue
                order = np.random.default_rng(3).permutation(len(one.codes))
                for rows in (None, order):
                    matrix = source.matrix(f"blk.{layer}.{ours}.weight", rows)
                    assert matrix is not None
                    codes = matrix.codes().reshape(len(one.codes), -1)
                    if bits == 4:
                        codes = np.stack([codes & 15, codes >> 4], -1).reshape(one.codes.shape)
                    picked = slice(None) if rows is None else rows
                    np.testing.assert_array_equal(codes, one.codes[picked])
                    repeated = matrix.layout.block_shape.blocks // one.scale.shape[1]
                    np.testing.assert_array_equal(matrix.scale(), np.repeat(one.scale[picked], repeated, axis=1))
                    np.testing.assert_array_equal(matrix.dequantize(), one.values[picked])
