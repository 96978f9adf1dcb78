"""WordPiece vocabularies (`tokenizer.ggml.model` = bert) against llama.cpp."""

import os
import sys
import unicodedata
from pathlib import Path

import pytest

from converters.tokenizer import export_tokenizer
from repack.errors import MobiusError
from tests.converters.tokenizer.support.llama_pieces import compare
from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_kinds import wordpiece

COUNT = int(os.environ.get("MOBIUS_TEST_STRINGS", "300"))
NEW = {"\ua7dc", "\u1c89"}  # upper case letters since Unicode 16: llama.cpp's tables are older
TEXTS = [
    text
    for text in [*many_strings(COUNT, special=["[CLS]", "[MASK]", "<user>", "[UNK]"]), *STRINGS]
    if NEW.isdisjoint(text)
]
ODD = [
    "",
    " ",
    "▁",
    "a▁b",
    "▁a",
    "İstanbul",
    "각가",
    "ᄀ\u1161",
    "\u212b",
    "\u1fef",
    "[CLS][SEP]",
    "x\u0301\u0903",
    "a\x00b",
]


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"normalizer.lowercase": False},
        {"normalizer.strip_accents": False},
        {"normalizer.lowercase": False, "normalizer.strip_accents": True, "add_bos_token": False},
    ],
    ids=["lower, no accents", "as it is", "lower", "no accents"],
)
def test_same_ids(keys: dict[str, bool], tmp_path: Path) -> None:
    plain = [unicodedata.normalize("NFD", text) for text in TEXTS]
    files, differing = compare(wordpiece([*TEXTS, *plain, *ODD], **keys), [*TEXTS, *ODD], tmp_path)
    assert not differing
    assert files.bos_token_id == 2


@pytest.mark.parametrize("lowercase", [False, True])
def test_every_character(lowercase: bool, tmp_path: Path) -> None:
    """Whether it is dropped, a space, a word of its own, or part of a word; those that old versions of Unicode have."""
    limit = sys.maxunicode + 1 if "MOBIUS_TEST_STRINGS" in os.environ else 0x3000
    old = unicodedata.ucd_3_2_0.category
    characters = [chr(i) for i in range(1, limit) if not 0xD800 <= i < 0xE000]
    characters = [c for c in characters if old(c) != "Cn"]
    metadata = wordpiece(characters, count=0, **{"normalizer.lowercase": lowercase})
    assert not compare(metadata, [f"a{c}b" for c in characters], tmp_path)[1]


def test_words_that_cannot_be_cut_are_unknown(tmp_path: Path) -> None:
    metadata = wordpiece(["ab"], count=0)
    assert not compare(metadata, ["abz ba", "z", "ab中ba", "a" * 1000], tmp_path)[1]


def test_longer_words_are_unknown(tmp_path: Path) -> None:
    """Here alone: llama.cpp cuts them."""
    assert compare(wordpiece(["ab"], count=0), ["a" * 1001], tmp_path)[1]


def test_ends_of_texts_are_needed_and_announced() -> None:
    metadata = wordpiece(["ab"])
    files = export_tokenizer(metadata)
    assert files.tokenizer_config is not None
    assert (files.tokenizer_config["bos_token"], files.tokenizer_config["sep_token"]) == ("[CLS]", "[SEP]")
    assert files.tokenizer_config["add_bos_token"]
    assert not files.tokenizer_config["add_eos_token"]
    assert any("no WordPiece" in warning for warning in files.warnings)
    del metadata["tokenizer.ggml.unknown_token_id"]
    with pytest.raises(MobiusError, match="unknown_token_id"):
        export_tokenizer(metadata)
