"""Folders that cannot be read, or that contradict themselves: each is told in one line."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.sources.checkpoint.folder import CheckpointFolder
from repack.errors import MobiusError
from tests.support import checkpoint as tiny
from tests.support.int4 import FORMS, quantized

OTHERS = ("bitsandbytes", "hqq", "quanto", "torchao", "aqlm", "vptq", "eetq", "higgs", "fbgemm_fp8", "bitnet", "spqr",
          "quark", "fp_quant", "sinq", "modelopt", "fp8", "nonsense")  # fmt: skip


def opened(folder: Path, config: dict[str, Any], change: Any = None) -> str:
    """What opening says."""
    tensors = {name: tiny.stored(values, "BF16") for name, values in tiny.weights_of(config["model_type"]).items()}
    if change:
        change(tensors)
    with pytest.raises(MobiusError) as error:
        CheckpointFolder.open(tiny.write_checkpoint(folder, config, tensors))
    assert error.value.hint and "\n" not in error.value.message
    return error.value.message


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, "no low_freq_factor"),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 8.0}}, "dynamic"),
        ({"rope_parameters": {"rope_theta": 1.0}}, "rope_theta and rope_parameters differ"),
        ({"sliding_window": 64}, "sliding_window is 64"),
        ({"layer_types": ["sliding_attention"] * 2}, "layer_types"),
        ({"logit_scale": 2.0}, "logit_scale = 2.0 is not understood"),
        ({"auto_map": {"AutoModel": "x.Y"}}, "code of the model's own"),
        ({"attention_bias": True}, "has no such biases"),
        ({"tie_word_embeddings": True}, "lm_head is there"),
        ({"hidden_size": None}, "config.json has no hidden_size"),
        ({"quantization_config": {"quant_method": "awq"}}, "AWQ: bits is None"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "quantized by bitsandbytes"),
        ({"quantization": {"group_size": 64, "bits": 4}}, "0 tensors are packed"),
        ({"quantization_config": tiny.packing(4, 32)}, "q_proj.weight is not packed"),
        ({"quantization_config": tiny.packing(5, 32)}, "weights.num_bits is 5"),
        ({"quantization_config": tiny.packing(4, 32, actorder="other")}, "weights.actorder is 'other'"),
        *(({"quantization_config": {"quant_method": name}}, f"quantized by {name}") for name in OTHERS),
        (
            {"quantization_config": {"quant_method": "auto-round", "packing_format": "marlin"}},
            "packing_format 'marlin'",
        ),
        (
            {"quantization_config": {"quant_method": "auto-round", "model_free": True, "sym": False}},
            "hold other ones than they say",
        ),
        (
            {"quantization_config": {"quant_method": "gptq", "checkpoint_format": "gptq_p"}},
            "checkpoint_format 'gptq_p'",
        ),
        ({"quantization_config": {"quant_method": "awq", "version": "marlin"}}, "version 'marlin'"),
    ],
)
def test_config(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    assert told in opened(tmp_path, tiny.config_of("llama", **changes))


def test_model_type(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    tiny.write_checkpoint(
        tmp_path / "x", {"model_type": "phi"}, {"a.weight": tiny.stored(np.ones(1, np.float32), "F32")}
    )
    with pytest.raises(MobiusError, match="model_type 'phi' cannot be read"):
        CheckpointFolder.open(tmp_path / "x")


def test_unknown_tensor(tmp_path: Path) -> None:
    extra = {"model.layers.0.mlp.secret.weight": tiny.stored(np.ones(4, np.float32), "F32")}
    assert "secret" in opened(tmp_path, tiny.config_of("llama"), lambda tensors: tensors.update(extra))


@pytest.mark.parametrize(
    ("part", "dtype", "array", "told"),
    [
        ("weight_packed", "I32", np.zeros((128, 16), np.int32), "not I32 [128, 32]"),
        ("weight_scale", "BF16", np.ones((128, 4), np.uint16), "or BF16 [128, 8]"),
        ("weight_zero_point", "I32", np.zeros((16, 8), np.int32), "which a symmetric matrix"),
        ("weight_g_idx", "I32", np.zeros(256, np.int32), "a matrix in its own order has not"),
    ],
)
def test_contradictions(tmp_path: Path, part: str, dtype: str, array: Any, told: str) -> None:
    def change(tensors: dict[str, tiny.Stored]) -> None:
        for stem, one in tiny.pack(tiny.weights_of("llama"), 4, 32).items():
            del tensors[f"{stem}.weight"]
            tensors.update(tiny.packed_tensors(stem, one))
        tensors[f"model.layers.1.self_attn.k_proj.{part}"] = (dtype, array)

    config = tiny.config_of("llama", quantization_config=tiny.packing(4, 32))
    assert told in opened(tmp_path, config, change)


def test_damaged_files(tmp_path: Path) -> None:
    tensors = {name: tiny.stored(values, "BF16") for name, values in tiny.weights_of("llama").items()}
    folder = tiny.write_checkpoint(tmp_path, tiny.config_of("llama"), tensors, shards=2)
    whole = (folder / "model-00002-of-00002.safetensors").read_bytes()
    for damaged, told in ((whole[:-10], "not all there"), (b"", "cannot be read"), (b"\xff" * 64, "not a safetensors")):
        (folder / "model-00002-of-00002.safetensors").write_bytes(damaged)
        with pytest.raises(MobiusError, match=told):
            CheckpointFolder.open(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(MobiusError, match="lacks model-00002"):
        CheckpointFolder.open(folder)


def test_ambiguous_zero_points(tmp_path: Path) -> None:
    """A stored 15 of version 1 is 0 for some programs, and 16 for others."""
    form = replace(FORMS["gptq zeros"], least_zero=0)
    config, tensors = tiny.config_of("llama", **form.config), tiny.weights_of("llama")
    stored = {name: tiny.stored(values, "F16") for name, values in tensors.items() if "_proj" not in name}
    for number, name in enumerate(name for name in tensors if "_proj" in name):
        stored |= form.write(name.removesuffix(".weight"), quantized(tensors[name].shape, form, number))
    with pytest.raises(MobiusError, match=r"zero points of 15, which programs read as 0 or as 16"):
        CheckpointFolder.open(tiny.write_checkpoint(tmp_path, config, stored))


def test_symmetric_in_name_only(tmp_path: Path) -> None:
    """Zero points of version 1 in a folder that says version 2: each weight would be one scale too large."""
    form = FORMS["gptq"]
    given = {**form.config["quantization_config"], "checkpoint_format": "gptq_v2"}
    config, tensors = tiny.config_of("llama", quantization_config=given), tiny.weights_of("llama")
    stored = {name: tiny.stored(values, "F16") for name, values in tensors.items() if "_proj" not in name}
    for number, name in enumerate(name for name in tensors if "_proj" in name):
        stored |= form.write(name.removesuffix(".weight"), quantized(tensors[name].shape, form, number))
    with pytest.raises(MobiusError, match="read as version 2, zero points are not symmetric"):
        CheckpointFolder.open(tiny.write_checkpoint(tmp_path, config, stored))
