"""What ids stand for, also ids that no text has, is what llama.cpp shows."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from converters.sources.gguf.file import GgufFile
from converters.tokenizer import export_tokenizer
from tests.converters.tokenizer.support.llama_pieces import Decoding, both
from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_files import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    byte_level,
    sentencepiece,
)
from tests.converters.tokenizer.support.vocab_kinds import plamo2, spaced_bpe, unigram, wordpiece
from tests.support.llama_vocab import LlamaVocab

UNDEFINED, NO_SUCH_TYPE = 0, 9
COUNT = int(os.environ.get("MOBIUS_TEST_STRINGS", "300"))
TOO_NEW = {"\ua7dc", "\u1c89"}  # for llama.cpp's tables of upper and lower case
PLAIN = [text for text in [*many_strings(COUNT), *STRINGS] if TOO_NEW.isdisjoint(text)]
TEXTS = [*PLAIN, *many_strings(COUNT // 3, 1, special=["</s>", "<user>", "õ", "▁<PRE>", "ab", "x y", "▁unused"])]
TEXTS = [text for text in TEXTS if TOO_NEW.isdisjoint(text)]
# Of every type; those without a text in llama.cpp have names that mean something in a regular expression.
ODD = {
    "<unused0>": UNUSED,
    "▁unused": UNUSED,
    "(.*)|[^a]\\#-&~ +$": UNUSED,
    "undefined": UNDEFINED,
    "<strange>": NO_SUCH_TYPE,
    "õ": USER_DEFINED,
    "ÿÂ": CONTROL,
    "ĠĊ": CONTROL,
    "Ġ中": USER_DEFINED,
    "  ": USER_DEFINED,
    "x y": USER_DEFINED,
    "<<<": USER_DEFINED,
    "▁<PRE>": NORMAL,  # a control token by its name
    "▁+(▁)": USER_DEFINED,
    "": NORMAL,
    "  two": NORMAL,
    "中": NORMAL,
}


# In a Unigram vocabulary the first byte of a user-defined token, when it is part of a character, breaks other
# characters that begin with it in llama.cpp.
ODD_UNIGRAM = {text: kind if text.isascii() or kind != USER_DEFINED else CONTROL for text, kind in ODD.items()}


def _with(metadata: dict[str, Any], types: Mapping[str, int]) -> dict[str, Any]:
    """Tokens get these types; those that are new come last."""
    found = dict(zip(metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"].tolist(), strict=True))
    old = len(found)
    found |= types
    changed = {"tokenizer.ggml.tokens": list(found), "tokenizer.ggml.token_type": np.array([*found.values()], np.int32)}
    scores = metadata.get("tokenizer.ggml.scores")
    if scores is not None:
        changed["tokenizer.ggml.scores"] = np.append(scores, np.full(len(found) - old, -8, np.float32))
    return metadata | changed


_BYTES = {f"<0x{byte:02X}>": BYTE for byte in range(256)}
_PIECES = {"▁ab": -1.0, "ab": -1.5, "a": -2.0, "b": -3.0, "▁": -4.0, "▁▁": -1.7, "é": -5.0, "\n": -6.0}
_SPECIAL = {"<s>": CONTROL, "</s>": CONTROL, "<unk>": UNKNOWN, "<user>": USER_DEFINED}
KINDS: dict[str, dict[str, Any]] = {
    "byte level": _with(byte_level(merges=[("Ġ", "ð"), ("ð", "Ł"), ("a", "b"), ("Ã", "©")], special=_SPECIAL), ODD),
    "byte level, unused": _with(byte_level(special=_SPECIAL), {"ab": UNUSED, "Ã": UNUSED}),
    "SentencePiece": _with(sentencepiece(_PIECES), ODD),
    "no prefix": _with(sentencepiece(_PIECES, add_space_prefix=False), ODD),
    "no bytes": _with(sentencepiece(_PIECES), dict.fromkeys(_BYTES, NORMAL)),
    "unused": _with(sentencepiece(_PIECES), {"▁ab": UNUSED, "▁": UNUSED}),
    "Unigram": _with(unigram(PLAIN, count=300, add_space_prefix=True), ODD_UNIGRAM),
    "Unigram, no prefix": _with(unigram(PLAIN, count=300), ODD_UNIGRAM),
    "Unigram, bytes": _with(unigram(PLAIN, count=300, add_space_prefix=True), _BYTES | {"x <0x41>": USER_DEFINED}),
    "WordPiece": _with(wordpiece(PLAIN, count=300), ODD),
    "spaced BPE": _with(spaced_bpe(PLAIN, count=100), ODD),
    "spaced BPE, prefix": _with(spaced_bpe(PLAIN, count=100, add_space_prefix=True), ODD),
    "PLaMo-2": _with(plamo2(PLAIN, count=300), ODD),
}
del KINDS["no bytes"]["tokenizer.ggml.token_type"]


@pytest.fixture(scope="module", params=KINDS)
def decoding(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Decoding]:
    with both(KINDS[request.param], tmp_path_factory.mktemp("vocab")) as (_, found):
        yield found


def test_texts_of_texts(decoding: Decoding) -> None:
    """Also where ids are not the same: the text that comes back is."""
    for text in TEXTS:
        ids = decoding.llama.encode(text)
        ours = decoding.ours.encode(text, add_special_tokens=False).ids
        assert decoding.ours.decode(ours, skip_special_tokens=False) in (
            decoding.text(ids, hide=False),
            decoding.known_text(ids, hide=False),
        )
    assert not decoding.differing([decoding.llama.encode(text) for text in TEXTS])
    assert not decoding.differing([decoding.llama.encode(text, add_special=True) for text in TEXTS])


def test_texts_of_tokens_at_random(decoding: Decoding) -> None:
    assert not decoding.differing(decoding.random_ids(2000))


def test_texts_of_every_token(decoding: Decoding) -> None:
    """Alone, and after another."""
    count = len(decoding.types)
    assert not decoding.differing([[token] for token in range(count)])
    assert not decoding.differing(
        [[token, other] for token in range(0, count, 7) for other in range(count - 40, count)]
    )


def test_pieces(decoding: Decoding) -> None:
    assert not decoding.differing_pieces()


def test_streams(decoding: Decoding) -> None:
    texts = [decoding.llama.encode(text, add_special=True) for text in TEXTS]
    assert not decoding.differing_streams([*texts, *decoding.random_ids(2000, seed=1)])


@pytest.mark.real
@pytest.mark.parametrize("model", ["smollm2_gguf", "gemma_gguf"])
def test_real_models(model: str, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue(model)
    with GgufFile.open(path) as source:
        metadata = dict(source.metadata)
    llama = LlamaVocab(path)
    decoding = Decoding(metadata, Tokenizer.from_buffer(export_tokenizer(metadata).tokenizer_json), llama)
    sequences = [*map(llama.encode, TEXTS), *decoding.random_ids(2000)]
    assert not decoding.differing(sequences)
    assert not decoding.differing_streams(sequences)
    assert not decoding.differing_pieces()
    llama.close()


def _shown(kind: str, tokens: list[str], folder: Path, *, hide: bool = False, **types: int) -> tuple[str, str]:
    """The text here, and in llama.cpp, if tokens have these types."""
    with both(_with(KINDS[kind], types), folder) as (_, decoding):
        names = KINDS[kind]["tokenizer.ggml.tokens"]
        ids = [names.index(token) for token in tokens]
        return decoding.ours.decode(ids, skip_special_tokens=hide), decoding.text(ids, hide=hide)


def test_what_differs_in_broken_bytes(tmp_path: Path) -> None:
    """`ByteFallback` replaces each byte of a run that is no text as a whole."""
    tokens = ["a", "<0xC3>", "<0xA9>", "<0xE2>", "b"]
    assert _shown("no prefix", tokens, tmp_path) == ("a\ufffd\ufffd\ufffdb", "aé\ufffdb")
    tokens = ["<0xC3>", "<unused0>", "<0xA9>"]
    assert _shown("no prefix", tokens, tmp_path) == ("\ufffd\ufffd", "é")


def test_what_differs_after_a_first_token_without_text(tmp_path: Path) -> None:
    """A decoder of `tokenizers` never sees hidden tokens. Here a text comes back as it was said."""
    assert _shown("SentencePiece", ["<s>", "▁ab"], tmp_path, hide=True) == ("ab", " ab")
    assert _shown("SentencePiece", ["<s>", "▁ab"], tmp_path) == ("<s> ab", "<s> ab")
    assert _shown("SentencePiece", ["<unused0>", "▁ab"], tmp_path) == ("ab", " ab")


def test_what_differs_in_tokens_of_other_characters(tmp_path: Path) -> None:
    """llama.cpp's answer is an error message with the whole token in it."""
    ours, theirs = _shown("byte level", ["a", "中"], tmp_path)
    assert ours == "a中"
    assert theirs.startswith("a[UNK_BYTE_0xe4b8ad")


def test_what_differs_in_tokens_that_have_the_name_of_a_byte_alone(tmp_path: Path) -> None:
    types = {"<0x41>": CONTROL, "<0x42>": NORMAL}
    assert _shown("no prefix", list(types), tmp_path, **types) == ("AB", "<0x41><0x42>")
