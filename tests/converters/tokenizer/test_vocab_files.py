"""llama.cpp's real vocabularies, with the vectors that come with them and many more texts.

`scripts/fetch_vocabs.py` fetches the files; without them these tests are skipped.
"""

import itertools
import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from converters.sources.gguf.file import GgufFile
from converters.tokenizer import TokenizerFiles, export_tokenizer
from tests.converters.tokenizer.support.byte_vocab import ByteVocab, as_text, damaged
from tests.converters.tokenizer.support.llama_pieces import Decoding
from tests.converters.tokenizer.support.pre_strings import NEWER, word_strings
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vectors import read_vectors, some_special

FOLDER = Path(os.environ.get("MOBIUS_VOCABS") or Path.home() / ".cache" / "mobius-vocabs")
PATHS = sorted(FOLDER.glob("ggml-vocab-*.gguf"))
TEXTS = 2000


def _special_before_space(text: str) -> bool:
    return bool(re.search(r"[>\]][ \t-\r]*[^\S \t-\r]", text))


def _two_marks(text: str) -> bool:
    return any(unicodedata.category(b)[0] == "M" and not a.isascii() for a, b in itertools.pairwise(text))


# Texts of which some get other ids than in llama.cpp, by file; all others are equal. `convert` warns of the second.
DIFFERENCES: dict[str, Callable[[str], bool]] = {
    # Special tokens swallow the white space that follows; llama.cpp looks at ASCII only.
    "ggml-vocab-phi-3": _special_before_space,
    # The character map knows letters with one mark; which of two goes into the letter is another question.
    "ggml-vocab-nomic-bert-moe": _two_marks,
}


@dataclass(frozen=True)
class Vocab:
    """One file, exported, beside llama.cpp's reading of it."""

    path: Path
    kind: str
    metadata: dict[str, Any]
    files: TokenizerFiles
    ours: Tokenizer
    llama: ByteVocab

    def differing(self, texts: list[str]) -> list[str]:
        """Texts with other ids than in llama.cpp."""
        ids = self.ours.encode_batch(texts, add_special_tokens=False)
        return [text for text, encoded in zip(texts, ids, strict=True) if encoded.ids != self.llama.encode(text)]


@pytest.fixture(scope="module", params=PATHS, ids=lambda path: path.stem.removeprefix("ggml-vocab-"))
def vocab(request: pytest.FixtureRequest) -> Iterator[Vocab]:
    with GgufFile.open(request.param) as source:
        metadata = dict(source.metadata)
    kind, files = str(metadata["tokenizer.ggml.model"]), export_tokenizer(metadata)
    llama = ByteVocab(request.param)
    yield Vocab(request.param, kind, metadata, files, Tokenizer.from_buffer(files.tokenizer_json), llama)
    llama.close()


def test_vectors(vocab: Vocab) -> None:
    vectors = read_vectors(vocab.path)
    if not vectors:
        pytest.skip("no vectors for this vocabulary")
    assert len(vectors) >= 46
    for text, ids in vectors:
        assert vocab.ours.encode(text, add_special_tokens=False).ids == ids, repr(text)


def test_texts(vocab: Vocab) -> None:
    assert not vocab.differing([text for text in STRINGS if NEWER.isdisjoint(text)])


def test_made_up_texts(vocab: Vocab) -> None:
    differing = vocab.differing(word_strings(TEXTS, special=some_special(vocab.ours)))
    known = DIFFERENCES.get(vocab.path.stem, lambda text: False)
    assert not [text for text in differing if not known(text)]


def test_special_tokens_around_a_text(vocab: Vocab) -> None:
    for text in STRINGS[::7]:
        assert vocab.ours.encode(text).ids == vocab.llama.encode(text, add_special=True), repr(text)
    assert vocab.files.add_bos == vocab.llama.add_bos
    assert set(vocab.files.eos_token_ids) == vocab.llama.stops()


def test_bytes_that_are_no_text(vocab: Vocab) -> None:
    if vocab.kind != "gpt2":
        pytest.skip("this kind has tokens for such bytes, which no text contains")
    for data in damaged(word_strings(500)):
        assert vocab.ours.encode(as_text(data), add_special_tokens=False).ids == vocab.llama.encode_bytes(data), data


def test_texts_of_ids(vocab: Vocab) -> None:
    """Of texts and of tokens at random; also as `mobius run` prints them."""
    decoding = Decoding(vocab.metadata, vocab.ours, vocab.llama)
    texts = word_strings(TEXTS, special=some_special(vocab.ours))
    ids = [vocab.llama.encode(text) for text in texts]
    assert not [i for i in ids if vocab.ours.decode(i, skip_special_tokens=False) != decoding.text(i, hide=False)]
    sequences = [*ids, *decoding.random_ids(3000)]
    assert not decoding.differing(sequences)
    assert not decoding.differing_streams(sequences)
    assert not decoding.differing_pieces()
