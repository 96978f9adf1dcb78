"""Hugging Face folders at the command line: inspect, convert, run; and what cannot be done with them yet."""

import json
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from tests.support import checkpoint as tiny
from tests.support.cli import contents
from tests.support.cli import mobius as run
from tests.support.int4 import FORMS, quantized
from tests.support.planted import PlantedFolder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = tiny.weights_of("qwen2")
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items()}
    made = tiny.write_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny", tiny.config_of("qwen2"), tensors)
    tokens = [*pre_tokenizers.ByteLevel.alphabet(), *(f"<{i}>" for i in range(tiny.VOCAB - 256))]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    (made / "tokenizer.json").write_text(tokenizer.to_str(pretty=True))
    config = {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<1>", "chat_template": "{{ messages[0].content }}"}
    (made / "tokenizer_config.json").write_text(json.dumps(config))
    generation = {"do_sample": True, "temperature": 0.7, "top_k": 20, "eos_token_id": [300, 301], "pad_token_id": 302}
    (made / "generation_config.json").write_text(json.dumps(generation))
    return made


def test_convert_and_run(folder: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    done = run("convert", folder, "-o", new, "--ep", "cpu", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["exact"] and not found["warnings"]
    assert (new / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    assert (new / "chat_template.jinja").read_text() == "{{ messages[0].content }}"
    assert json.loads((new / "tokenizer_config.json").read_text())["tokenizer_class"] == "Qwen2Tokenizer"
    generation = json.loads((new / "generation_config.json").read_text())
    assert generation["eos_token_id"] == [300, 301] and generation["pad_token_id"] == 302
    assert generation["temperature"] == 0.7 and generation["top_k"] == 20
    manifest = json.loads((new / "mobius.json").read_text())
    assert [part["file"] for part in manifest["source"]][:2] == ["model.safetensors", "config.json"]
    assert "The weights of a checkpoint as an ONNX model" in (new / "README.md").read_text()
    assert run("run", new, "-p", "Hello", "--tokens", "4", "--temp", "0").exit_code == 0


def test_inspect(folder: Path) -> None:
    done = run("inspect", folder, "--ep", "onnx", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["architecture"] == "qwen2" and found["convertible"]
    assert found["spec"]["layers"]


def test_what_needs_a_gguf(folder: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    assert run("convert", folder, "-o", new).exit_code == 0
    done = run("bench", new, "--gguf", folder)
    assert done.exit_code == 2 and "GGUF" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("options", [(), ("--ep", "cpu"), ("--ep", "cpu", "--dtype", "f16"), ("--ep", "cuda")])
@pytest.mark.parametrize("packed", [None, (4, 128), (8, None)])
def test_verify(tmp_path: Path, options: tuple[str, ...], packed: tuple[int, int | None] | None) -> None:
    """A right folder passes without an engine; bits in its data, in the checkpoint or in the graph are found."""
    weights = tiny.weights_of("llama")
    tensors, config = {name: tiny.stored(values, "BF16") for name, values in weights.items()}, tiny.config_of("llama")
    for stem, one in tiny.pack(weights, *packed).items() if packed else ():
        del tensors[f"{stem}.weight"]
        tensors |= tiny.packed_tensors(stem, one)
    if packed:
        config = tiny.config_of("llama", quantization_config=tiny.packing(*packed))
    source, new = tiny.write_checkpoint(tmp_path / "model", config, tensors), tmp_path / "new"
    assert run("convert", source, "-o", new, *options).exit_code == 0
    done = run("verify", new, source)
    assert done.exit_code == 0, done.stdout
    assert "llama.cpp was not asked: the model has no tokenizer" in done.stdout
    assert done.stdout.splitlines()[-1] == "PASS: the folder is what its source makes"
    wrong = PlantedFolder(new, tmp_path / "wrong")
    wrong.data[np.random.default_rng(1).integers(0, wrong.data.size)] ^= 1
    found = json.loads(run("verify", wrong.save(), source, "--json").stdout)
    assert found["verdict"] == "diverged" and len(found["proof"]["differences"]) == 1
    raw = bytearray((source / "model.safetensors").read_bytes())
    raw[-40] ^= 1
    (source / "model.safetensors").write_bytes(raw)
    assert "is not the file that was converted" in run("verify", new, source).stderr


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_a_folder_made_of_floats_is_rewritten_to_the_same_bytes(tmp_path: Path, kind: str) -> None:
    """The manifest too: it still says how halves of heads are turned."""
    tensors = {name: tiny.stored(values, "BF16") for name, values in tiny.weights_of(kind).items()}
    folder = tiny.write_checkpoint(tmp_path / "model", tiny.config_of(kind), tensors)
    for source, name in ((folder, "a"), (tmp_path / "a", "b")):
        assert run("convert", source, "-o", tmp_path / name, "--ep", "cpu").exit_code == 0
    assert contents(tmp_path / "b") == contents(tmp_path / "a")


def test_a_folder_of_integers_is_not_rewritten(tmp_path: Path) -> None:
    form, weights = FORMS["awq"], tiny.weights_of("llama")
    tensors = {name: tiny.stored(values, "F16") for name, values in weights.items() if "_proj" not in name}
    for number, name in enumerate(name for name in weights if "_proj" in name):
        tensors |= form.write(name.removesuffix(".weight"), quantized(weights[name].shape, form, number))
    tiny.write_checkpoint(tmp_path / "model", tiny.config_of("llama", **form.config), tensors)
    assert run("convert", tmp_path / "model", "-o", tmp_path / "out", "--ep", "cpu").exit_code == 0
    done = run("convert", tmp_path / "out", "-o", tmp_path / "other")
    assert done.exit_code == 1 and "convert the checkpoint itself once more" in done.stderr
    assert not (tmp_path / "other").exists()
