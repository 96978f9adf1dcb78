"""Whole models from Hugging Face folders: logits against llama.cpp on the same weights, stored numbers bit for bit."""

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

IDS = prompt(40, tiny.VOCAB)
LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 3.0}
NEW = {"rope_theta": None, "rope_parameters": {"rope_theta": tiny.THETA, "rope_type": "default"}, "torch_dtype": None}


def check(
    tmp: Path, kind: str, config: dict[str, Any], tensors: Any, weights: Any, shards: int = 1, **keys: Any
) -> None:
    folder = tiny.write_checkpoint(tmp / "model", config, tensors, shards)
    wanted = llama_logits(tiny.write_gguf(tmp / "f32.gguf", kind, weights, **keys), IDS, 256)
    assert wanted.std() > 0.1
    for ep in ("cpu", "onnx"):
        with open_source(folder) as source:
            plan = make_plan(source, choose_target(ep, **({"accuracy_level": 0} if ep == "cpu" else {})))
            (tmp / ep).mkdir()
            write_graph(plan.graph, tmp / ep, {}, ("test", "0"))
        session = TinySession(tmp / ep, plan.states)
        for steps in (None, [len(IDS) - 8, *[1] * 8]):
            assert np.abs(session.logits(IDS, steps) - wanted).max() < TOLERANCE


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
