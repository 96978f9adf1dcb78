"""What the table says of onnxruntime-genai is what it does."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from typer.testing import CliRunner

from converters.tokenizer import export_tokenizer
from converters.tokenizer.pretokenizers import PRE_TOKENIZERS, PreTokenizer
from mobius_cli.app import app
from tests.converters.tokenizer.pre_strings import merges_across_characters
from tests.converters.tokenizer.vocab_files import byte_level
from tests.tiny import write_tiny

_MERGES = merges_across_characters()
_TEXTS = [
    "Hello, World!",
    "it's 12345 camelCase words.",
    "a\n\nb\n  c\n",
    "Привет, мир! 你好，世界。 naïve",
    "x = f(1)  # no\n",
    "☺ 😀!",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of which onnxruntime-genai loads the model, so that it looks at the tokenizer."""
    pytest.importorskip("onnxruntime_genai")
    path = tmp_path_factory.mktemp("genai")
    write_tiny(path / "tiny.gguf", "llama", types={".": "Q8_0"}, tokenizer="bpe", n_vocab=320)
    done = CliRunner().invoke(app, ["convert", str(path / "tiny.gguf"), "-o", str(path / "model"), "--ep", "cpu"])
    assert done.exit_code == 0, done.stderr
    return path / "model"


def _encode(tokenizer: Any, text: str) -> list[int] | str:
    try:
        return [int(i) for i in tokenizer.encode(text)]
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("entry", PRE_TOKENIZERS, ids=lambda entry: entry.names[0])
def test_genai(entry: PreTokenizer, folder: Path) -> None:
    import onnxruntime_genai as og

    files = export_tokenizer(byte_level(merges=_MERGES, pre=entry.names[0]))
    (folder / "tokenizer.json").write_text(str(files.tokenizer_json), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(files.tokenizer_config), encoding="utf-8")
    model = og.Model(str(folder))
    if not entry.loads_in_genai:
        with pytest.raises(RuntimeError, match="Invalid regex"):
            og.Tokenizer(model)
        assert "does not load" in str(entry.genai_warning)
        return
    theirs, ours = og.Tokenizer(model), Tokenizer.from_str(str(files.tokenizer_json))
    texts = [entry.differs_in_genai] if entry.differs_in_genai else _TEXTS
    for text in texts:
        same = _encode(theirs, text) == ours.encode(text, add_special_tokens=False).ids
        assert same == (not entry.differs_in_genai), repr(text)
    assert bool(entry.differs_in_genai) == ("for example" in str(entry.genai_warning))
