"""Integer checkpoints: codes, zero points, scales and values bit for bit, and whole models against llama.cpp."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.sources.checkpoint.folder import CheckpointFolder
from converters.sources.checkpoint.methods import awq as awq_method
from converters.sources.checkpoint.methods import compressed_tensors as ct_method
from converters.sources.checkpoint.methods import gptq as gptq_method
from repack.bits import pair_unpack
from repack.packed import awq as awq_bits
from repack.packed import integers
from tests.converters.sources.checkpoint.test_models import check
from tests.support import checkpoint as tiny
from tests.support.int4 import FORMS, Form, Quantized, quantized
from tests.support.oracle import require_llama

require_llama()
WHOLE = (
    "ct asymmetric", "ct matrix", "ct ordered", "ct 8 bit", "ct 3 bit", "awq", "awq gemv", "gptq ordered", "gptq 2 bit",
    "mlx 3 bit", "mlx 4 bit", "mlx 6 bit", "mlx 8 bit",
)  # fmt: skip


def model(kind: str, form: Form) -> tuple[dict[str, Any], dict[str, Any], dict[str, Quantized], dict[str, tiny.F32]]:
    """Configuration, tensors, what the quantized ones mean, and all weights as floats."""
    weights, made, tensors = tiny.weights_of(kind), dict[str, Quantized](), dict[str, tiny.Stored]()
    everywhere = form.biased  # MLX quantizes embeddings and heads too
    for number, (name, values) in enumerate(weights.items()):
        stem = name.removesuffix(".weight")
        if "_proj.weight" in name or (everywhere and values.ndim == 2):
            made[stem] = quantized(values.shape, form, number)
            tensors |= form.write(stem, made[stem])
            weights[name] = made[stem].values
        else:
            tensors[name] = tiny.stored(values, "BF16" if form.scale_type == "BF16" else "F16")
    return tiny.config_of(kind, **form.config), tensors, made, weights


def opened(folder: Path, form: Form, kind: str = "llama") -> tuple[CheckpointFolder, dict[str, Quantized]]:
    config, tensors, made, _ = model(kind, form)
    tiny.write_checkpoint(folder, config, tensors, shards=2)
    for name, content in form.beside.items():
        (folder / name).write_text(json.dumps(content))
    return CheckpointFolder.open(folder), made


def mismatches(source: CheckpointFolder, made: dict[str, Quantized]) -> int:
    """Values of the first layer that are not the right ones, bit for bit."""
    count = 0
    for theirs, ours in tiny.LAYER_NAMES.items():
        if (one := made.get(f"model.layers.0.{theirs}")) is not None:
            count += int(np.count_nonzero(source.floats(f"blk.0.{ours}.weight") != one.values))
    return count


@pytest.mark.parametrize("name", FORMS)
def test_numbers(tmp_path: Path, name: str) -> None:
    """In the file's order of rows, in another one, and of a part."""
    form = FORMS[name]
    source, made = opened(tmp_path, form)
    assert mismatches(source, made) == 0
    one = made["model.layers.1.mlp.gate_proj"]
    order = np.random.default_rng(3).permutation(len(one.codes))
    for rows in (None, order):
        picked = slice(None) if rows is None else rows
        whole = source.matrix("blk.1.ffn_gate.weight", rows)
        assert whole is not None
        np.testing.assert_array_equal(whole.dequantize(), one.values[picked])
        columns = np.argsort(one.groups, kind="stable")
        half = one.codes.shape[1] // 2 // (form.group or 1) * (form.group or 1) if form.group else 0
        cut = whole.cut((3, 40), (half, one.codes.shape[1]))
        codes = pair_unpack(cut.codes()) if cut.layout.bits == 4 else cut.codes()
        shift = (1 << cut.layout.bits >> 1) - (1 << form.bits >> 1)  # widened codes stay in the middle
        np.testing.assert_array_equal(codes.reshape(37, -1) - shift, one.codes[picked][3:40][:, columns[half:]])
        groups = one.groups[columns][half :: cut.layout.block_size]
        np.testing.assert_array_equal(cut.scale(), one.scales[picked][3:40][:, groups])
        if cut.layout.zero_points:
            np.testing.assert_array_equal(cut.zero_points() - shift, one.zeros[picked][3:40][:, groups])
        else:
            assert one.biases is not None or form.symmetric


@pytest.mark.parametrize("name", WHOLE)
def test_whole_models(tmp_path: Path, name: str) -> None:
    """Logits on `cpu` and `onnx`; qwen2 has biases and a tied head."""
    config, tensors, _, weights = model("qwen2" if name.startswith("mlx") else "llama", FORMS[name])
    check(tmp_path, config["model_type"], config, tensors, weights)


def raw(packed: Any, rows: Any) -> Any:
    """Bytes of words."""
    return np.ascontiguousarray(packed[rows]).view(np.uint8)


def flat_zeros(packed: Any, rows: Any, bits: int) -> Any:
    return integers.unpacked(packed.reshape(-1).view(np.uint8), bits).reshape(-1, packed.shape[1])[rows]


CONTROLS: dict[str, tuple[str, Any, str, Any]] = {
    "nibbles swapped": ("ct asymmetric", ct_method, "row_stream", lambda p, r, *_: raw(p, r) >> 4 | raw(p, r) << 4),
    "two's complement": ("ct asymmetric", ct_method, "row_stream", lambda p, r, *_: raw(p, r) ^ 0x88),
    "zero points along the columns": ("ct asymmetric", ct_method, "row_zeros", flat_zeros),
    "groups in order": ("ct ordered", ct_method, "sorted_groups", lambda groups: None),
    "interleave left in": ("awq", awq_bits, "NIBBLES", tuple(range(8))),
    "interleave left in zero points": (
        "awq", awq_method, "turned_codes", lambda w, r: integers.unpacked(w.view(np.uint8), 4).T[r]),
    "minus one forgotten": ("gptq zeros", gptq_method, "VERSIONS", {"gptq": 2}),
    "groups ignored": ("gptq ordered", gptq_method, "sorted_groups", lambda groups: None),
    "biases as zero points": ("mlx 4 bit", integers.IntegerMatrix, "offset", lambda self: np.rint(
        self._of_blocks(self.stored.biases(self.rows)) / self.scale()) * self.scale() + 8 * self.scale()),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROLS)
def test_wrong_readings_show(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form, module, attribute, wrong = CONTROLS[name]
    monkeypatch.setattr(module, attribute, wrong)
    source, made = opened(tmp_path, FORMS[form])
    assert mismatches(source, made) > 1000
