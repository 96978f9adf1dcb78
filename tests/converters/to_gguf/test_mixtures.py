"""Mixtures of experts as GGUF files, and their folders beside them: each expert's weights."""

from pathlib import Path

import numpy as np
import pytest

from converters.sources.checkpoint.folder import CheckpointFolder
from converters.to_gguf.write import write_gguf
from tests.converters.to_gguf.test_write import nothing, weights_in
from tests.support import checkpoint as tiny
from tests.support import checkpoint_mixtures as mixtures
from tests.support.cli import mobius
from tests.support.int4 import FORMS
from tests.support.oracle import LlamaModel, require_llama
from tests.support.planted import PlantedFolder
from tests.support.runner import prompt

CASES = [("qwen3_moe", None, "BF16"), ("qwen2_moe", "gptq", "Q4_0"), ("mixtral", "awq", "F32")]


@pytest.mark.parametrize(("kind", "name", "type_name"), CASES)
def test_every_expert(tmp_path: Path, kind: str, name: str | None, type_name: str) -> None:
    require_llama()
    weights, form = mixtures.weights_of(kind), None if name is None else FORMS[name]
    tensors = mixtures.stored(weights, form)
    config = mixtures.config_of(kind, **({} if form is None else form.config))
    folder, path = tiny.write_checkpoint(tmp_path / "model", config, tensors), tmp_path / "ours.gguf"
    with CheckpointFolder.open(folder) as source:
        done = write_gguf(source, path, "f32", nothing)
    assert not done.rounded and done.types[type_name] >= 6
    found = weights_in(path)
    wanted = weights_in(mixtures.write_gguf(tmp_path / "theirs.gguf", kind, weights))
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[key], wanted[key].reshape(found[key].shape)) for key in found)
    with LlamaModel(path) as ours:  # it loads, with all tensors in their places
        assert np.isfinite(ours.logits(prompt(8, tiny.VOCAB))).all()

    assert mobius("convert", folder, "-o", tmp_path / "onnx", "--ep", "cpu").exit_code == 0
    assert mobius("verify", tmp_path / "onnx", folder, "--weights-only").exit_code == 0
    wrong = PlantedFolder(tmp_path / "onnx", tmp_path / "wrong")
    place = next(one.name for one in wrong.model.graph.initializer if "ffn_down_exps.weight.2" in one.name)
    wrong.raw(place)[77] ^= 1
    done_wrong = mobius("verify", wrong.save(), folder, "--weights-only")
    assert done_wrong.exit_code == 1 and "blk.0.ffn_down_exps.weight: 1 of " in done_wrong.stdout
