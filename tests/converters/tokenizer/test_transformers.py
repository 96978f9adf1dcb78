"""A folder's tokenizer in transformers: the same ids as tokenizer.json's own, the template, and what batches need."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from converters.tokenizer.export import export_tokenizer
from converters.tokenizer.stored import stored_tokenizer, token_ids, write_tokenizer
from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.vocab_files import byte_level, sentencepiece
from tests.converters.tokenizer.support.vocab_kinds import plamo2, spaced_bpe, unigram, wordpiece

transformers = pytest.importorskip("transformers")

TEXTS = many_strings(200)
PIECES = {"▁": -3.0, "▁a": -1.0, "ab": -2.0, "a": -4.0, "b": -4.5}
TEMPLATE = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
KINDS: dict[str, Mapping[str, Any]] = {
    "bytes": byte_level(), "bytes with bos": byte_level(add_bos_token=True), "sentencepiece": sentencepiece(PIECES),
    "unigram": unigram(TEXTS), "plamo2": plamo2(TEXTS), "wordpiece": wordpiece(TEXTS), "spaced": spaced_bpe(TEXTS),
}  # fmt: skip


# Kinds whose class, which onnxruntime-genai needs, makes transformers 5 build another tokenizer from the vocabulary.
REBUILT = {"sentencepiece", "unigram"}


@pytest.mark.parametrize("name", KINDS)
def test_ids(tmp_path: Path, name: str) -> None:
    """PreTrainedTokenizerFast takes tokenizer.json as it is; so does AutoTokenizer, but for what is named here."""
    write_tokenizer(tmp_path, export_tokenizer(KINDS[name]), 640, "left")
    ours = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    wanted = [ours.encode(text).ids for text in TEXTS]
    for loader in (transformers.PreTrainedTokenizerFast, transformers.AutoTokenizer):
        theirs = loader.from_pretrained(tmp_path)
        same = [theirs(text)["input_ids"] for text in TEXTS] == wanted
        assert same == (loader is transformers.PreTrainedTokenizerFast or name not in REBUILT)
        assert theirs.model_input_names == ["input_ids", "attention_mask"]
        assert theirs.model_max_length == 640


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_and_template(tmp_path: Path, side: str) -> None:
    files = export_tokenizer({**byte_level(padding_token_id=3), "tokenizer.chat_template": TEMPLATE})
    write_tokenizer(tmp_path, files, 128, side)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    batch = theirs(["some words", "a"], padding=True)
    assert set(batch) == {"input_ids", "attention_mask"}
    mask = batch["attention_mask"][1]
    assert 0 in mask and mask == sorted(mask, reverse=side == "right")
    chat = [{"role": "user", "content": "hi"}]
    assert theirs.apply_chat_template(chat, tokenize=False) == "[user] hi\n"
    (tmp_path / "chat_template.jinja").unlink()  # which transformers.js does not read
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert again.apply_chat_template(chat, tokenize=False) == "[user] hi\n"


def test_read_back(tmp_path: Path) -> None:
    """What the folder adds is not the tokenizer's own: a folder made from it may have another context."""
    files = export_tokenizer({**byte_level(), "tokenizer.chat_template": TEMPLATE})
    write_tokenizer(tmp_path, files, 128, "left")
    assert stored_tokenizer(tmp_path, token_ids(files)) == files
