"""`mobius verify` of a checkpoint's folder by transformers, where it is installed with torch; and without it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from mobius_cli.commands.verify import by_transformers
from tests.support import checkpoint as tiny
from tests.support.cli import mobius

ASKED = ("-p", "hello world", "-p", "a b c", "-n", 6, "-t", 1)


def made(folder: Path, kind: str, bits: int = 0, **said: Any) -> Path:
    """A checkpoint with a tokenizer; `said` goes to its quantization_config."""
    weights = tiny.weights_of(kind)
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items()}
    changes: dict[str, Any] = {"eos_token_id": None, "bos_token_id": None}
    for stem, one in tiny.pack(weights, bits, 32).items() if bits else ():
        del tensors[f"{stem}.weight"]
        tensors |= tiny.packed_tensors(stem, one)
        changes["quantization_config"] = {**tiny.packing(bits, 32), **said}
    config = tiny.config_of(kind, **changes)
    tiny.write_checkpoint(folder, config, tensors)
    tokens = [*pre_tokenizers.ByteLevel.alphabet(), *(f"<{i}>" for i in range(tiny.VOCAB - 256))]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, []))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    return folder


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("options", [(), ("--ep", "cpu"), ("--ep", "cpu", "--dtype", "f16")])
def test_the_same_answers(tmp_path: Path, kind: str, options: tuple[str, ...]) -> None:
    pytest.importorskip("torch")
    source, folder = made(tmp_path / "model", kind), tmp_path / "onnx"
    assert mobius("convert", source, "-o", folder, *options).exit_code == 0
    done = mobius("verify", folder, source, *ASKED)
    assert done.exit_code == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("transformers ")]
    assert "of 2 prompts, 12 tokens, log-probabilities within" in line and "diverged" not in line
    assert "f16" in options or "2 identical" in line


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("bits", [4, 8])
def test_packed_weights(tmp_path: Path, kind: str, bits: int) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("compressed_tensors")
    source, folder = made(tmp_path / "model", kind, bits, quantization_status="compressed"), tmp_path / "onnx"
    assert mobius("convert", source, "-o", folder, "--ep", "cpu").exit_code == 0
    done = mobius("verify", folder, source, *ASKED)
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "transformers " in done.stdout and "2 identical of 2 prompts" in done.stdout


def test_tensors_that_transformers_does_not_read(tmp_path: Path) -> None:
    """It makes some up, and says nothing: without that word it takes no weight for packed."""
    pytest.importorskip("torch")
    pytest.importorskip("compressed_tensors")
    source, folder = made(tmp_path / "model", "llama", 4), tmp_path / "onnx"
    assert mobius("convert", source, "-o", folder, "--ep", "cpu").exit_code == 0
    assert (
        "transformers was not asked: transformers does not read 56" in mobius("verify", folder, source, *ASKED).stdout
    )


def test_a_configuration_read_wrongly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours and llama.cpp's sides agree then, for both are made of what was read: transformers alone sees it."""
    pytest.importorskip("torch")
    source = made(tmp_path / "model", "llama")
    from converters.archs.checkpoint import common

    monkeypatch.setattr(common, "_rope", lambda config: {"rope.freq_base": 2 * config.get("rope_theta")})
    assert mobius("convert", source, "-o", tmp_path / "onnx").exit_code == 0
    done = mobius("verify", tmp_path / "onnx", source, *ASKED, "--json")
    assert done.exit_code == 1
    assert {entry["part"] for entry in json.loads(done.stdout)["proof"]["differences"]} == {"logits"}


def test_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = made(tmp_path / "model", "qwen2")
    assert mobius("convert", source, "-o", tmp_path / "onnx").exit_code == 0
    monkeypatch.setattr(by_transformers, "find_spec", lambda name: None)
    done = mobius("verify", tmp_path / "onnx", source, *ASKED)
    assert done.exit_code == 0, done.stdout
    assert "transformers was not asked: transformers with torch is not installed" in done.stdout
