"""What the table says of onnxruntime-genai is what it does."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from converters.tokenizer.pretokenizers import PRE_TOKENIZERS, PreTokenizer
from tests.converters.tokenizer.support.pre_strings import merges_across_characters
from tests.converters.tokenizer.support.vocab_files import byte_level
from tests.support.genai import genai_ids, genai_tokenizer

_MERGES = merges_across_characters()
_TEXTS = [
    "Hello, World!",
    "it's 12345 camelCase words.",
    "a\n\nb\n  c\n",
    "Привет, мир! 你好，世界。 naïve",
    "x = f(1)  # no\n",
    "a\n \n  b",
    "☺ 😀!",
]


@pytest.mark.parametrize("entry", PRE_TOKENIZERS, ids=lambda entry: entry.names[0])
def test_genai(entry: PreTokenizer, genai_folder: Path) -> None:
    files = export_tokenizer(byte_level(merges=_MERGES, pre=entry.names[0]))
    if not entry.loads_in_genai:
        with pytest.raises(RuntimeError, match="Invalid regex"):
            genai_tokenizer(genai_folder, files)
        assert "does not load" in str(entry.genai_warning)
        return
    theirs, ours = genai_tokenizer(genai_folder, files), Tokenizer.from_buffer(files.tokenizer_json)
    texts = [entry.differs_in_genai] if entry.differs_in_genai else _TEXTS
    for text in texts:
        same = genai_ids(theirs, text) == ours.encode(text, add_special_tokens=False).ids
        assert same == (not entry.differs_in_genai), repr(text)
    assert bool(entry.differs_in_genai) == ("for example" in str(entry.genai_warning))
