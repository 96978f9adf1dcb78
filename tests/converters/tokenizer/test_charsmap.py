"""Character maps: read as llama.cpp reads them, and done by `tokenizers`."""

import json
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from converters.tokenizer.charsmap import Charsmap, charsmap_normalizers
from repack.errors import InputError
from tests.converters.tokenizer.support.charsmap_file import SINGLES, compile_charsmap, composing_charsmap
from tests.converters.tokenizer.support.many_strings import many_strings


def _normalizer(steps: list[dict[str, Any]]) -> Any:
    whole = {"version": "1.0", "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": steps}}
    model = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
    return Tokenizer.from_str(json.dumps({**whole, "model": model})).normalizer


def test_the_longest_text_is_replaced() -> None:
    charsmap = Charsmap(compile_charsmap({"a": "1", "abc": "2", "é": "e", "x": ""}).tobytes())
    assert charsmap.normalize("ababc\u00e9xb中\U0001f600") == "1b2eb中\U0001f600"
    assert charsmap.normalize("") == ""
    assert charsmap.normalize("\0a") == "\x001"


def test_single_characters() -> None:
    blob = compile_charsmap(SINGLES)
    warnings: list[str] = []
    normalizer = _normalizer(charsmap_normalizers(blob, warnings))
    charsmap = Charsmap(blob.tobytes())
    for text in ["\r\n", "ﬁ\u0301\u0323", "①\ufe0f\u20e3", "é\u0301", *many_strings(200)]:
        assert normalizer.normalize_str(text) == charsmap.normalize(text), repr(text)
    assert not warnings


def test_letters_are_composed_with_the_marks_that_follow_at_once() -> None:
    blob = composing_charsmap()
    warnings: list[str] = []
    normalizer = _normalizer(charsmap_normalizers(blob, warnings))
    charsmap = Charsmap(blob.tobytes())
    texts = [
        "e\u0323\u0302",
        "a\u0301\u0302",
        "\u03b1\u0313\u0342\u0345",
        "か\u3099",
        "ᄀ\u1161\u11a8",
        "ａe\u0331\u0301",
    ]
    texts += ["a\u0328\u0304\u0301", "Å\u0301"]
    for text in texts:
        assert normalizer.normalize_str(text) == charsmap.normalize(text), repr(text)
    assert "for example 'é\u0323'" in warnings[0]  # a mark that belongs before one that is in the letter


@pytest.mark.parametrize("rules", [{"ab": "x"}, {"\r\n": "\n"}, {"e\u0301": "é", "o\u0301": "0"}])
def test_what_cannot_be_done_is_announced(rules: dict[str, str]) -> None:
    warnings: list[str] = []
    charsmap_normalizers(compile_charsmap(rules), warnings)
    assert any("not reproduced" in warning and "for example" in warning for warning in warnings)


@pytest.mark.parametrize(
    "damaged",
    [
        np.zeros(0, np.uint8),
        np.array([4, 0, 0, 0], np.uint8),
        np.array([255, 255, 0, 0, 1, 1], np.uint8),
        np.array([4, 0, 0, 0, 0, 0, 0, 0, 65], np.uint8),
        np.array([4, 0, 0, 0, 0, 0, 0, 0, 255, 0], np.uint8),
        np.array([4, 0, 0, 0], np.int32),
    ],
    ids=["empty", "no trie", "too short", "no end", "no UTF-8", "numbers"],
)
def test_damage_is_refused(damaged: Any) -> None:
    with pytest.raises(InputError, match="precompiled_charsmap"):
        charsmap_normalizers(damaged, [])
