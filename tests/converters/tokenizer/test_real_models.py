"""The tokenizers of the two real models against llama.cpp."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from converters.sources.gguf.file import GgufFile
from converters.tokenizer import TokenizerFiles, export_tokenizer
from tests.converters.tokenizer.support.strings import STRINGS
from tests.support.llama_vocab import LlamaVocab

pytestmark = pytest.mark.real

# Characters newer than the tables of one side are letters on the other: they are left to the tests of the
# pre-tokenizers.
_CHARACTERS = st.characters(exclude_categories=("Cs", "Cn"))
_PIECES = st.sampled_from(
    [
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        "\r\n",
        "'s",
        "1",
        "23",
        "the",
        "▁",
        "<bos>",
        "<|im_end|>",
        "</s>",
        "<b>",
        "é",
        "\u0301",
    ]
)
_TEXTS = st.one_of(
    st.text(_CHARACTERS, max_size=40),
    st.text("ab \n'1é中", max_size=60),
    st.lists(_PIECES | st.text(_CHARACTERS, max_size=4), max_size=25).map("".join),
)


@dataclass(frozen=True)
class _Pair:
    files: TokenizerFiles
    ours: Tokenizer
    llama: LlamaVocab


def _load(path: Path) -> Iterator[_Pair]:
    llama = LlamaVocab(path)
    with GgufFile.open(path) as source:
        files = export_tokenizer(source.metadata)
    yield _Pair(files, Tokenizer.from_buffer(files.tokenizer_json), llama)
    llama.close()


@pytest.fixture(scope="module")
def smollm2(smollm2_gguf: Path) -> Iterator[_Pair]:
    yield from _load(smollm2_gguf)


@pytest.fixture(scope="module")
def gemma(gemma_gguf: Path) -> Iterator[_Pair]:
    yield from _load(gemma_gguf)


@pytest.fixture(scope="module", params=["smollm2", "gemma"])
def pair(request: pytest.FixtureRequest) -> _Pair:
    found: _Pair = request.getfixturevalue(request.param)
    return found


def test_ids_are_those_of_llama_cpp(pair: _Pair) -> None:
    differing = [
        text for text in STRINGS if pair.ours.encode(text, add_special_tokens=False).ids != pair.llama.encode(text)
    ]
    assert not differing


def test_special_tokens_around_a_text_are_those_of_llama_cpp(pair: _Pair) -> None:
    for text in STRINGS[::7]:
        assert pair.ours.encode(text).ids == pair.llama.encode(text, add_special=True), repr(text)


@settings(max_examples=800, deadline=None)
@given(_TEXTS)
@example("\n" * 33 + " " * 35)
def test_any_text_gets_the_ids_of_llama_cpp(pair: _Pair, text: str) -> None:
    assert pair.ours.encode(text, add_special_tokens=False).ids == pair.llama.encode(text)


def test_decoding_is_that_of_llama_cpp(pair: _Pair) -> None:
    for text in STRINGS:
        ids = pair.ours.encode(text, add_special_tokens=False).ids
        assert pair.ours.decode(ids, skip_special_tokens=False) == pair.llama.decode(ids), repr(text)


def _not_given_back(pair: _Pair) -> set[str]:
    encoded = {text: pair.ours.encode(text, add_special_tokens=False).ids for text in STRINGS}
    return {text for text, ids in encoded.items() if pair.ours.decode(ids, skip_special_tokens=False) != text}


def test_decoding_gives_the_text_back(smollm2: _Pair, gemma: _Pair) -> None:
    # One control character of this text has no token in SmolLM2.
    assert _not_given_back(smollm2) == {"a\x1cb\x1dc\x1ed\x1fe"}
    assert _not_given_back(gemma) == {text for text in STRINGS if "▁" in text}  # SentencePiece's space


def test_roles_are_those_of_llama_cpp(pair: _Pair) -> None:
    assert set(pair.files.eos_token_ids) == pair.llama.stops()
    assert pair.files.bos_token_id == pair.llama.bos
    assert pair.files.add_bos == pair.llama.add_bos
    assert all("genai" in warning for warning in pair.files.warnings)


def test_files_of_gemma(gemma: _Pair) -> None:
    files = gemma.files
    assert files.chat_template is None
    assert (files.bos_token_id, files.pad_token_id, files.eos_token_ids[0]) == (2, 0, 1)
    assert files.tokenizer_config["tokenizer_class"] == "GemmaTokenizer"
    assert gemma.ours.decode(gemma.ours.encode("Hello world").ids) == "Hello world"
    # One merge for each token, though more than twice as many pairs of tokens make a token.
    assert len(json.loads(files.tokenizer_json)["model"]["merges"]) < 240_000
    assert len(files.tokenizer_json) < 10_500_000


def test_files_of_smollm2(smollm2: _Pair) -> None:
    files = smollm2.files
    assert files.chat_template is not None
    assert "<|im_start|>" in files.chat_template
    assert files.tokenizer_config == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
        "unk_token": "<|endoftext|>",
        "pad_token": "<|im_end|>",
        "add_bos_token": False,
        "add_eos_token": False,
        "clean_up_tokenization_spaces": False,
    }
