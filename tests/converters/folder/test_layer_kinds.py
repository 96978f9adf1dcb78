"""`config.json` of models whose local and global layers have heads of their own, read by transformers' class."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.archs.hugging_face import GLOBAL, LOCAL
from tests.converters.folder.test_hugging_face import Loaded
from tests.support.any_arch import Case
from tests.support.arch_cases import all_cases

transformers = pytest.importorskip("transformers")

ALL = {name.removeprefix("gemma4: "): case for name, case in all_cases().items() if case.arch == "gemma4"}
SHARED, AS_VALUES = ALL["shared keys and values, embeddings per layer"], ALL["keys as values in global layers"]
MIXED = ALL["experts, scaled, gate and up as one"]
ROPES = {
    LOCAL: {"rope_type": "default", "rope_theta": 10000.0},
    GLOBAL: {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25},
}
WANTED: dict[str, tuple[Case, dict[str, Any], list[tuple[int, int]]]] = {
    "like E2B": (SHARED, {
        "num_hidden_layers": 4, "layer_types": [LOCAL, GLOBAL] * 2, "num_kv_shared_layers": 2,
        "use_double_wide_mlp": True, "intermediate_size": 256, "hidden_size_per_layer_input": 64,
        "vocab_size_per_layer_input": 320, "attention_k_eq_v": False, "final_logit_softcapping": 2.0,
        "rope_parameters": ROPES, "tie_word_embeddings": True,
    }, [(64, 1), (128, 1)] * 2),
    "like the 31B": (AS_VALUES, {
        "num_hidden_layers": 3, "layer_types": [LOCAL, LOCAL, GLOBAL], "num_kv_shared_layers": 0,
        "use_double_wide_mlp": False, "hidden_size_per_layer_input": 0, "attention_k_eq_v": True,
        "rope_parameters": ROPES, "sliding_window": 12, "num_attention_heads": 8, "rms_norm_eps": 0.01,
        "hidden_activation": "gelu_pytorch_tanh", "attention_bias": False, "enable_moe_block": False,
    }, [(64, 4), (64, 4), (128, 2)]),
    "like the 26B-A4B": (MIXED, {
        "num_hidden_layers": 3, "enable_moe_block": True, "num_experts": 7, "top_k_experts": 3,
        "moe_intermediate_size": 96, "intermediate_size": 160, "attention_k_eq_v": True,
    }, [(64, 4), (64, 4), (128, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("name", WANTED)
def test_class_says_what_the_file_says(tmp_path: Path, name: str) -> None:
    """Of each layer its own head size and key heads."""
    case, wanted, heads = WANTED[name]
    config = Loaded(tmp_path, case).config
    assert (config.model_type, config.architectures) == ("gemma4_text", ["Gemma4ForCausalLM"])
    assert {key: getattr(config, key) for key in wanted} == wanted
    found = [config.per_layer_config[i] for i in range(config.num_hidden_layers)]
    assert [(layer.head_dim, layer.num_key_value_heads) for layer in found] == heads


@pytest.mark.parametrize("name", WANTED)
def test_round_trip(tmp_path: Path, name: str) -> None:
    config = Loaded(tmp_path, WANTED[name][0]).config
    config.save_pretrained(tmp_path / "again")
    again = transformers.AutoConfig.from_pretrained(tmp_path / "again")
    assert {**again.to_dict(), "_name_or_path": ""} == {**config.to_dict(), "_name_or_path": ""}


def test_divisors_of_other_sizes(tmp_path: Path) -> None:
    """Neither 1 nor endless: the class has no words for them."""
    values = {**AS_VALUES.values, "rope_freqs": lambda rng, shape: 1 + np.arange(shape[0])}
    assert "architectures" not in Loaded(tmp_path, replace(AS_VALUES, values=values)).written


def test_stretched(tmp_path: Path) -> None:
    keys = {**AS_VALUES.keys, "rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
    found = Loaded(tmp_path, replace(AS_VALUES, keys=keys)).config.rope_parameters
    assert found == {**ROPES, GLOBAL: {**ROPES[GLOBAL], "factor": 4.0}}


@pytest.mark.parametrize(("name", "keys"), [
    ("heads of 36 and 80, keys and values that nobody reads", {}),  # the last layer is local
    ("linear scaling of global layers", {}),  # key heads differ among global layers
    ("keys as values in global layers", {"feed_forward_length": [256, 256, 512]}),  # wider where nothing is shared
    ("shared keys and values, embeddings per layer", {"feed_forward_length": [256, 256, 256, 512]}),
    ("shared keys and values, embeddings per layer", {"rope.dimension_count_swa": 32}),  # turns a half
    ("experts with scales in some layers, shared keys and values", {}),
])  # fmt: skip
def test_without_a_class(tmp_path: Path, name: str, keys: dict[str, Any]) -> None:
    """What the class cannot say is not said half."""
    case = replace(ALL[name], keys={**ALL[name].keys, **keys})
    assert "architectures" not in Loaded(tmp_path, case).written
