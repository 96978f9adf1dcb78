"""FP4 checkpoints: numbers bit for bit, and whole models against llama.cpp."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.sources.checkpoint.folder import CheckpointFolder
from repack.errors import MobiusError
from tests.converters.sources.checkpoint.test_models import check
from tests.support import checkpoint as tiny
from tests.support.oracle import require_llama

require_llama()
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
GLOBAL = np.float32(300)
FORMS = ("ct mxfp4", "ct nvfp4", "mlx mxfp4")


def e4m3(codes: Any) -> Any:
    """E4M3's positive numbers that are not subnormal."""
    return np.exp2((codes >> 3) - 7.0) * (1 + (codes & 7) / 8)


def fp4(stem: str, shape: tuple[int, int], form: str, seed: int) -> tuple[dict[str, tiny.Stored], Any, tiny.F32]:
    """Tensors; what the matrix alone means; and with the scale of all."""
    rng, size = np.random.default_rng(seed), 16 if "nvfp4" in form else 32
    codes = rng.integers(0, 16, shape).astype(np.uint8)
    pairs = codes[:, 0::2] | codes[:, 1::2] << 4
    blocks = (shape[0], shape[1] // size)
    if "nvfp4" in form:
        scales = rng.integers(0x40, 0x58, blocks).astype(np.uint8)
        alone = np.repeat(e4m3(scales), size, axis=1) * E2M1[codes]
        whole = (alone * np.float64(np.float32(1 / np.float64(GLOBAL)))).astype(np.float32)
        return {f"{stem}.weight_packed": ("U8", pairs), f"{stem}.weight_scale": ("F8_E4M3", scales),
                f"{stem}.weight_global_scale": ("F32", np.array([GLOBAL]))}, alone, whole  # fmt: skip
    scales = rng.integers(120, 123, blocks).astype(np.uint8)
    alone = np.repeat(np.exp2(scales - 127.0), size, axis=1) * E2M1[codes]
    if form.startswith("mlx"):
        words: tiny.Stored = ("U32", np.ascontiguousarray(pairs).view(np.uint32))
        return {f"{stem}.weight": words, f"{stem}.scales": ("U8", scales)}, alone, alone.astype(np.float32)
    packed: dict[str, tiny.Stored] = {f"{stem}.weight_packed": ("U8", pairs), f"{stem}.weight_scale": ("U8", scales)}
    return packed, alone, alone.astype(np.float32)


def config_of(form: str, **changes: Any) -> dict[str, Any]:
    if form.startswith("mlx"):
        given = {"group_size": 32, "bits": 4, "mode": "mxfp4", **changes}
        return tiny.config_of("llama", quantization=given, quantization_config=given)
    kind = form.removeprefix("ct ")
    size = 16 if kind == "nvfp4" else 32
    weights = {"num_bits": 4, "type": "float", "group_size": size, "dynamic": False, "symmetric": True}
    group = {"targets": ["Linear"], "weights": weights, "input_activations": None, **changes}
    given = {"quant_method": "compressed-tensors", "format": f"{kind}-pack-quantized", "config_groups": {"a": group},
             "ignore": ["lm_head"]}  # fmt: skip
    return tiny.config_of("llama", quantization_config=given)


def model(form: str) -> tuple[dict[str, tiny.Stored], dict[str, Any], dict[str, tiny.F32]]:
    """Tensors, what matrices mean alone, and all weights."""
    weights, alone, tensors = tiny.weights_of("llama"), dict[str, Any](), dict[str, tiny.Stored]()
    for number, (name, values) in enumerate(weights.items()):
        stem = name.removesuffix(".weight")
        if "_proj" not in name:
            tensors[name] = tiny.stored(values, "BF16")
            continue
        made, alone[stem], weights[name] = fp4(stem, (values.shape[0], values.shape[1]), form, number)
        tensors |= made
    return tensors, alone, weights


@pytest.mark.parametrize("form", FORMS)
def test_numbers(tmp_path: Path, form: str) -> None:
    tensors, alone, _ = model(form)
    source = CheckpointFolder.open(tiny.write_checkpoint(tmp_path, config_of(form), tensors, shards=2))
    order = np.random.default_rng(3).permutation(tiny.WIDTH)
    for rows in (None, order):
        whole = source.matrix("blk.1.ffn_gate.weight", rows)
        assert whole is not None
        wanted = alone["model.layers.1.mlp.gate_proj"][slice(None) if rows is None else rows].astype(np.float32)
        np.testing.assert_array_equal(whole.dequantize(), wanted)
        np.testing.assert_array_equal(whole.cut((3, 40), (64, 192)).dequantize(), wanted[3:40, 64:192])


@pytest.mark.parametrize("form", FORMS)
def test_whole_models(tmp_path: Path, form: str) -> None:
    tensors, _, weights = model(form)
    check(tmp_path, "llama", config_of(form), tensors, weights)


@pytest.mark.parametrize(
    ("form", "changes", "told"),
    [
        ("ct nvfp4", {"input_activations": {"num_bits": 4}}, "activations, which are rounded too"),
        ("ct mxfp4", {"weights": {"num_bits": 8}}, "num_bits of a group"),
        ("mlx mxfp4", {"mode": "nvfp4"}, "mode 'nvfp4'"),
    ],
)
def test_what_is_not_read(tmp_path: Path, form: str, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(MobiusError, match=told):
        CheckpointFolder.open(tiny.write_checkpoint(tmp_path, config_of(form, **changes), model(form)[0]))


def test_a_scale_of_all_that_is_missing(tmp_path: Path) -> None:
    tensors, _, _ = model("ct nvfp4")
    del tensors["model.layers.0.mlp.up_proj.weight_global_scale"]
    with pytest.raises(MobiusError, match="weight_global_scale is missing"):
        CheckpointFolder.open(tiny.write_checkpoint(tmp_path, config_of("ct nvfp4"), tensors))
