"""What is refused, what is announced, and what the files say."""

import json
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from repack.errors import InputError, MobiusError
from tests.converters.tokenizer.support.vocab_files import CONTROL, USER_DEFINED, byte_level, sentencepiece

_PIECES = {"ab": -1.0, "a": -2.0, "b": -3.0, "▁": -4.0}


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("rwkv", "not supported: RWKV's takes the longest token"),
        ("hybriddna", "not supported: byte-level BPE with DNA"),
        ("test", "not supported: llama.cpp's own tests"),
        ("something-new", "not known"),
    ],
)
def test_other_kinds_are_refused_by_name(model: str, reason: str) -> None:
    with pytest.raises(MobiusError, match=rf"'{model}' \(tokenizer.ggml.model\) is {reason}") as refusal:
        export_tokenizer({**sentencepiece(_PIECES), "tokenizer.ggml.model": model})
    for kind in ("gpt2 (byte-level BPE)", "llama (SentencePiece", "t5 (Unigram", "bert (WordPiece)", "gemma4", "none"):
        assert kind in refusal.value.hint
    assert "plamo2 (PLaMo-2's Unigram), whitespace (BPE of words without spaces)" in refusal.value.hint


@pytest.mark.parametrize("model", ["none", "no_vocab"])
def test_no_tokenizer_is_said_aloud(model: str) -> None:
    files = export_tokenizer({"tokenizer.ggml.model": model, "tokenizer.ggml.eos_token_id": 2})
    assert files.tokenizer_json is files.tokenizer_config is files.chat_template is None
    assert (files.bos_token_id, files.eos_token_ids, files.pad_token_id, files.add_bos) == (None, (), None, False)
    assert model in files.warnings[0]


@pytest.mark.parametrize("missing", ["model", "tokens"])
def test_files_without_a_tokenizer_are_refused(missing: str) -> None:
    metadata = sentencepiece(_PIECES)
    del metadata[f"tokenizer.ggml.{missing}"]
    with pytest.raises(MobiusError, match=f"tokenizer.ggml.{missing}"):
        export_tokenizer(metadata)


def test_damaged_tables_are_refused() -> None:
    metadata = sentencepiece(_PIECES)
    damages: dict[str, Any] = {"scores": np.zeros(5), "token_type": np.ones(5, np.int32), "tokens": ["\udc80"]}
    for key, value in damages.items():
        with pytest.raises(InputError, match=key):
            export_tokenizer({**metadata, f"tokenizer.ggml.{key}": value})
    no_merges = byte_level(pre="gpt-2")
    del no_merges["tokenizer.ggml.merges"]
    with pytest.raises(MobiusError, match="no merges"):
        export_tokenizer(no_merges)


def test_equal_and_empty_tokens_do_not_break_the_file() -> None:
    metadata = sentencepiece(_PIECES)
    tokens = metadata["tokenizer.ggml.tokens"]
    tokens += ["b", "", ""]
    metadata["tokenizer.ggml.scores"] = -np.arange(len(tokens), dtype=np.float32)
    metadata["tokenizer.ggml.token_type"] = np.append(metadata["tokenizer.ggml.token_type"], [1, 1, 1])
    files = export_tokenizer(metadata)
    assert any("1 tokens have the same text" in warning for warning in files.warnings)
    tokenizer = Tokenizer.from_buffer(files.tokenizer_json)
    assert tokenizer.get_vocab_size() == len(tokens)
    last = len(tokens) - 3
    assert tokenizer.encode("b", add_special_tokens=False).ids[-1] == last
    assert tokenizer.id_to_token(last) == "b"


def test_merges_of_unknown_tokens_are_left_out() -> None:
    metadata = byte_level(merges=[("a", "b")], pre="gpt-2")
    metadata["tokenizer.ggml.merges"] += ["a zz", "b c", "nospace", "a b"]
    files = export_tokenizer(metadata)
    assert any(warning.startswith("3 merges") for warning in files.warnings)
    assert json.loads(files.tokenizer_json)["model"]["merges"] == ["a b"]


def test_special_tokens_that_overlap_are_announced() -> None:
    overlap = byte_level(special={"<a><": CONTROL, "<bcdef>": CONTROL}, pre="gpt-2")
    assert any("can overlap" in warning for warning in export_tokenizer(overlap).warnings)
    apart = {"<e>": CONTROL, "\n\n": USER_DEFINED, "\n\n\n": USER_DEFINED, "<ab": CONTROL, "<abc": CONTROL}
    assert not export_tokenizer(byte_level(special=apart, pre="gpt-2")).warnings


def test_texts_that_json_escapes_survive() -> None:
    merges = [('"', '"'), ("\\", '"'), ("\\", "n")]
    special = {'<"\\\n\t\x01é😀\u2028>': CONTROL}
    files = export_tokenizer(byte_level(merges=merges, special=special, pre="gpt-2"))
    tokenizer = Tokenizer.from_buffer(files.tokenizer_json)
    text = next(iter(special))
    assert tokenizer.encode(text).ids == [tokenizer.get_vocab_size() - 1]
    assert tokenizer.encode('""').tokens == ['""']
    assert json.loads(files.tokenizer_json)["model"]["merges"] == ['" "', '\\ "', "\\ n"]


def test_same_metadata_gives_the_same_bytes() -> None:
    assert export_tokenizer(sentencepiece(_PIECES)) == export_tokenizer(sentencepiece(_PIECES))


def test_chat_template_is_handed_on() -> None:
    metadata = {**sentencepiece(_PIECES), "tokenizer.chat_template": "{{ bos_token }}"}
    files = export_tokenizer(metadata)
    assert files.chat_template == "{{ bos_token }}"
    assert "chat_template" not in files.tokenizer_config
