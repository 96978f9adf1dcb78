"""Checkpoints as GGUF files: every weight equal to a file written by hand, as gguf's own decoder reads both."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from converters.sources.checkpoint.folder import CheckpointFolder
from converters.to_gguf.write import Written, write_gguf
from repack.errors import InputError, MobiusError
from tests.support import checkpoint as tiny
from tests.support.f32 import dequantized_copy, values_of
from tests.support.oracle import LlamaModel, require_llama

IDS = np.random.default_rng(1).integers(0, tiny.VOCAB, 24).tolist()
FORMS: list[tuple[int, int | None, str]] = [(4, 32, "Q4_0"), (4, 128, "Q4_0"), (8, None, "Q8_0"), (8, 32, "Q8_0")]


def nothing(*_: Any) -> None:
    """For who does not want to know how far it is."""


def made(folder: Path, kind: str, bits: int = 0, group: int | None = None, scale: str = "BF16") -> tuple[Path, Any]:
    """A checkpoint, and its weights in float32 by Hugging Face's names."""
    weights = tiny.weights_of(kind)
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items()}
    config: dict[str, Any] = {}
    for stem, one in tiny.pack(weights, bits, group).items() if bits else ():
        if scale == "F32":  # with bits that float16 has not
            one = tiny.Packed(one.codes, (one.scale * np.float32(1.0001)).astype(np.float32), one.bits)
        del tensors[f"{stem}.weight"]
        tensors |= tiny.packed_tensors(stem, one) | {f"{stem}.weight_scale": tiny.stored(one.scale, scale)}
        weights[f"{stem}.weight"] = one.values
        config = {"quantization_config": tiny.packing(bits, group)}
    return tiny.write_checkpoint(folder, tiny.config_of(kind, **config), tensors), weights


def written(checkpoint: Path, path: Path, wanted: str | None = None, **options: Any) -> Written:
    with CheckpointFolder.open(checkpoint) as source:
        return write_gguf(source, path, wanted, nothing, **options)


def weights_in(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    return {tensor.name: values_of(tensor).view(np.uint32) for tensor in gguf.GGUFReader(path).tensors}


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize(("bits", "group", "type_name"), [(0, None, "BF16"), *FORMS])
def test_every_weight(tmp_path: Path, kind: str, bits: int, group: int | None, type_name: str) -> None:
    """Rows of q and k too, which stand in another order in files of llama."""
    checkpoint, weights = made(tmp_path / "model", kind, bits, group)
    done = written(checkpoint, tmp_path / "ours.gguf")
    assert done.types[type_name] >= 14 and not done.rounded
    found = weights_in(tmp_path / "ours.gguf")
    wanted = weights_in(tiny.write_gguf(tmp_path / "theirs.gguf", kind, weights))
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[name], wanted[name]) for name in found)


def test_biases_move_with_their_rows(tmp_path: Path) -> None:
    weights, rng = tiny.weights_of("llama"), np.random.default_rng(6)
    for name in [name for name in weights if ".self_attn." in name]:
        weights[name.replace("weight", "bias")] = tiny.bf16(rng.normal(0, 0.3, len(weights[name])))
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items()}
    config = tiny.config_of("llama", attention_bias=True)
    written(tiny.write_checkpoint(tmp_path / "model", config, tensors), tmp_path / "ours.gguf")
    found = weights_in(tmp_path / "ours.gguf")
    wanted = weights_in(tiny.write_gguf(tmp_path / "theirs.gguf", "llama", weights))
    assert found.keys() == wanted.keys() and "blk.1.attn_q.bias" in found
    assert all(np.array_equal(found[name], wanted[name]) for name in found)


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
def test_llama_cpp_runs_it(tmp_path: Path, kind: str) -> None:
    require_llama()
    checkpoint, weights = made(tmp_path / "model", kind, 4, 32)
    written(checkpoint, tmp_path / "ours.gguf")
    wide = dequantized_copy(tmp_path / "ours.gguf", tmp_path / "wide.gguf")  # so that activations are not rounded
    with LlamaModel(wide) as ours, LlamaModel(tiny.write_gguf(tmp_path / "theirs.gguf", kind, weights)) as theirs:
        assert np.abs(ours.logits(IDS) - theirs.logits(IDS)).max() < 1e-5


def test_scales_that_float16_has_not(tmp_path: Path) -> None:
    checkpoint, weights = made(tmp_path / "model", "llama", 4, 32, "F32")
    with pytest.raises(MobiusError) as caught:
        written(checkpoint, tmp_path / "ours.gguf")
    assert "14 quantized tensors" in caught.value.message and "would be rounded, by 0.0" in caught.value.message
    assert "--to-gguf-type" in (caught.value.hint or "") and not list(tmp_path.glob("*gguf*"))
    wanted = weights_in(tiny.write_gguf(tmp_path / "theirs.gguf", "llama", weights))
    for type_name, most in (("f32", 0.0), ("f16", 1e-3), ("bf16", 1e-2), ("q8_0", 1e-2)):
        done = written(checkpoint, tmp_path / "ours.gguf", type_name, force=True)
        assert done.types[type_name.upper()] >= 14
        errors = []
        for name, found in weights_in(tmp_path / "ours.gguf").items():
            one, other = found.view(np.float32).astype(np.float64), wanted[name].view(np.float32)
            errors.append(float(np.sqrt(np.square(one - other).sum() / np.square(other.astype(np.float64)).sum())))
        assert max(errors) <= most and max(done.rounded.values(), default=0.0) == pytest.approx(max(errors), rel=1e-3)


def test_places(tmp_path: Path) -> None:
    checkpoint, _ = made(tmp_path / "model", "qwen2")
    written(checkpoint, tmp_path / "a.gguf")
    before = (tmp_path / "a.gguf").read_bytes()
    for path in (tmp_path / "a.gguf", tmp_path, tmp_path / "no" / "b.gguf", checkpoint / "model.safetensors"):
        with pytest.raises(InputError):
            written(checkpoint, path, force=path != tmp_path / "a.gguf")
    written(checkpoint, tmp_path / "a.gguf", force=True)
    assert (tmp_path / "a.gguf").read_bytes() == before


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    checkpoint, _ = made(tmp_path / "model", "qwen2")

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with CheckpointFolder.open(checkpoint) as source, pytest.raises(KeyboardInterrupt):
        write_gguf(source, tmp_path / "a.gguf", None, stop)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
