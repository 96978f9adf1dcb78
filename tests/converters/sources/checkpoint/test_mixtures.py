"""Mixtures of experts from Hugging Face folders, floats and integers, against llama.cpp on the same weights."""

from pathlib import Path

import numpy as np
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.target import choose_target
from repack.errors import MobiusError
from tests.support import checkpoint as tiny
from tests.support import checkpoint_mixtures as mixtures
from tests.support.any_arch import llama_logits
from tests.support.int4 import FORMS
from tests.support.oracle import require_llama
from tests.support.runner import TOLERANCE, TinySession, prompt

require_llama()
IDS = prompt(40, tiny.VOCAB)
CASES = [
    ("qwen3_moe", None), ("qwen2_moe", None), ("mixtral", None), ("qwen3_moe", "ct asymmetric"),
    ("qwen3_moe", "mlx 4 bit"), ("qwen2_moe", "gptq"), ("mixtral", "awq"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_logits(tmp_path: Path, kind: str, name: str | None) -> None:
    weights, form = mixtures.weights_of(kind), None if name is None else FORMS[name]
    tensors = mixtures.stored(weights, form)
    if name is not None and name.startswith("mlx"):
        tensors = mixtures.stacked(tensors)
    config = mixtures.config_of(kind, **({} if form is None else form.config))
    if name is not None and name.startswith("ct"):
        config["quantization_config"]["ignore"] = ["lm_head", "re:.*mlp.gate$"]
    folder = tiny.write_checkpoint(tmp_path / "model", config, tensors, shards=3)
    wanted = llama_logits(mixtures.write_gguf(tmp_path / "f32.gguf", kind, weights), IDS, 256)
    for ep in ("cpu", "onnx"):
        with CheckpointFolder.open(folder) as source:
            plan = make_plan(source, choose_target(ep, **({"accuracy_level": 0} if ep == "cpu" else {})))
            (tmp_path / ep).mkdir()
            write_graph(plan.graph, tmp_path / ep, {}, ("test", "0"))
        session = TinySession(tmp_path / ep, plan.states)
        for steps in (None, [len(IDS) - 8, *[1] * 8]):
            assert np.abs(session.logits(IDS, steps) - wanted).max() < TOLERANCE


def test_experts_that_are_missing_or_unlike(tmp_path: Path) -> None:
    tensors = mixtures.stored(mixtures.weights_of("qwen3_moe"), None)
    name = "model.layers.1.mlp.experts.2.up_proj.weight"
    _, array = tensors.pop(name)
    with pytest.raises(MobiusError, match="of 4 experts 1 are missing"):
        CheckpointFolder.open(tiny.write_checkpoint(tmp_path / "a", mixtures.config_of("qwen3_moe"), tensors))
    tensors[name] = ("F16", array)
    with pytest.raises(MobiusError, match="different types or shapes"):
        CheckpointFolder.open(tiny.write_checkpoint(tmp_path / "b", mixtures.config_of("qwen3_moe"), tensors))


@pytest.mark.parametrize(
    ("key", "value"), [("mlp_only_layers", [0]), ("decoder_sparse_step", 2), ("norm_topk_prob", None)]
)
def test_variants_that_are_not_read(tmp_path: Path, key: str, value: object) -> None:
    tensors = mixtures.stored(mixtures.weights_of("qwen3_moe"), None)
    config = {**mixtures.config_of("qwen3_moe"), key: value}
    with pytest.raises(MobiusError, match=key):
        CheckpointFolder.open(tiny.write_checkpoint(tmp_path, config, tensors))
