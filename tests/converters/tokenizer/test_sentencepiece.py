"""SentencePiece-style vocabularies made up for the test, against llama.cpp."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from repack.errors import MobiusError
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_files import (
    CONTROL,
    UNKNOWN,
    USER_DEFINED,
    assert_same_as_llama,
    sentencepiece,
)

# As in Llama's vocabulary: runs of spaces have one very low score.
_WORDS = ["▁t", "he", "▁the", "in", "er", "▁a", "on", "▁s", "or", "▁w", "ld", "▁hel", "lo", "▁hello"]
_PIECES = {
    **{piece: -float(i) for i, piece in enumerate(_WORDS)},
    **{"\r\n": -15.0, "▁\r": -16.0, "▁he": -20.0, "▁hell": -21.0, "▁wor": -22.0, "▁world": -23.0, "hello": -24.0},
    **{c: -100.0 - i for i, c in enumerate("▁abcdefghijklmnopqrstuvwxyz\n\r.,'1é")},
    **{"▁" * n: -1e9 for n in range(2, 17)},
}
_TEXTS = [
    *STRINGS,
    "hello world",
    "<s>hello</s> world",
    "the  the   the <s>  the",
    "\r\n\rx",
    *(" " * n + "a" for n in range(40)),
]


def test_llama_style(tmp_path: Path) -> None:
    files = assert_same_as_llama(sentencepiece(_PIECES), _TEXTS, tmp_path)
    assert not files.warnings
    assert (files.bos_token_id, files.add_bos, files.eos_token_ids) == (1, True, (2,))
    tokenizer = Tokenizer.from_buffer(files.tokenizer_json)
    for text in ("hello world", " hello", "  a\n\n b ", "naïve 😀"):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_without_space_prefix(tmp_path: Path) -> None:
    metadata = sentencepiece(_PIECES, add_space_prefix=False, add_bos_token=False)
    tokenizer = Tokenizer.from_buffer(assert_same_as_llama(metadata, _TEXTS, tmp_path).tokenizer_json)
    for text in ("hello world", " hello", "   hello  "):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text


def test_end_token_after_the_text(tmp_path: Path) -> None:
    files = assert_same_as_llama(sentencepiece(_PIECES, add_eos_token=True), ["hello", ""], tmp_path)
    assert files.tokenizer_config["add_eos_token"] is True
    pair = Tokenizer.from_buffer(files.tokenizer_json).encode("a", "b").ids
    assert pair.count(1) == pair.count(2) == 2


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("ab▁", min_size=2, max_size=5), max_size=15, unique=True),
    st.lists(st.text("ab ▁c<s>\n", max_size=25), min_size=1, max_size=8),
    st.booleans(),
)
def test_any_vocabulary(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], texts: list[str], prefix: bool
) -> None:
    scores = {piece: -float(i) for i, piece in enumerate([*pieces, *"ab▁"])}
    metadata = sentencepiece(scores, add_space_prefix=prefix)
    assert_same_as_llama(metadata, texts, tmp_path_factory.mktemp("vocab"))


def test_special_tokens_that_swallow_white_space(tmp_path: Path) -> None:
    special = {"<unk>": UNKNOWN, **dict.fromkeys(["<s>", "</s>", "<|endoftext|>", "<|user|>", "<|end|>"], CONTROL)}
    metadata = sentencepiece(_PIECES, special=special)
    texts = ["<|user|>\n hello<|end|>\n<s> hello</s> hello", "<|user|>   ", " <|user|>hello"]
    assert_same_as_llama(metadata, texts, tmp_path)
    plain = export_tokenizer(metadata).tokenizer_json
    files = assert_same_as_llama({**metadata, "general.name": "Phi-3 mini"}, texts, tmp_path)
    assert files.tokenizer_json != plain
    # The example of the warning is one: llama.cpp keeps that space.
    assert any("ids differ for example in '</s>\\u3000a'" in warning for warning in files.warnings)
    with pytest.raises(AssertionError, match="u3000a"):
        assert_same_as_llama({**metadata, "general.name": "Phi-3 mini"}, ["</s>\u3000a"], tmp_path)


def test_user_defined_tokens_are_found_first_and_shown(tmp_path: Path) -> None:
    special = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
    special |= dict.fromkeys(("  ", "   ", "\n\n", "<b>", "hell"), USER_DEFINED)
    files = assert_same_as_llama(sentencepiece(_PIECES, special=special), _TEXTS, tmp_path)
    shown = {t["content"]: t["special"] for t in json.loads(files.tokenizer_json)["added_tokens"]}
    assert not shown["<b>"]
    assert shown["<s>"]
    assert shown["<unk>"]


def test_ties_that_can_matter_are_announced(tmp_path: Path) -> None:
    tied = sentencepiece({"ab": -1.0, "bc": -1.0, "a": -5.0, "b": -6.0, "c": -7.0})
    assert "2 tokens share their score" in export_tokenizer(tied).warnings[0]


def test_gaps_are_announced() -> None:
    metadata = sentencepiece({"ab": -1.0, "a": -2.0})
    assert any("1 characters occur in tokens" in w for w in export_tokenizer(metadata).warnings)
    metadata["tokenizer.ggml.tokens"][3] = "x"  # was <0x00>
    assert any("1 of the 256 byte tokens" in w for w in export_tokenizer(metadata).warnings)


def test_scores_are_needed() -> None:
    metadata = sentencepiece(_PIECES)
    for scores in (None, metadata["tokenizer.ggml.scores"] * np.nan):
        with pytest.raises(MobiusError, match="score"):
            export_tokenizer({**metadata, "tokenizer.ggml.scores": scores})


@pytest.mark.parametrize(
    ("tokens", "pairs"),
    [(["ab"], False), (["ab", "#b"], False), (["#b"], True), (["ab", "a\r"], True), (["ab", "#versions"], True)],
)
def test_merges_that_readers_of_texts_mistake_are_pairs(tokens: list[str], pairs: bool, tmp_path: Path) -> None:
    pieces = [token[:n] for token in tokens for n in range(2, len(token) + 1)]
    pieces += sorted(set("".join(pieces)))
    metadata = sentencepiece({piece: -float(i) for i, piece in enumerate(pieces)})
    files = assert_same_as_llama(metadata, [*tokens, "x".join(tokens)], tmp_path)
    merges = json.loads(files.tokenizer_json)["model"]["merges"]
    assert all(isinstance(merge, list if pairs else str) for merge in merges)
    assert len(merges) == sum(len(token) - 1 for token in tokens)
