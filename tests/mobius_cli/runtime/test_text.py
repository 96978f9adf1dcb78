"""Text as it streams: whole characters only, whatever tokens they are cut into."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from mobius_cli.runtime.text import TextCodec
from mobius_cli.runtime.token_bytes import TokenBytes
from repack.errors import InputError
from tests.converters.tokenizer.support.llama_pieces import both
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_files import (
    CONTROL,
    USER_DEFINED,
    byte_characters,
    byte_level,
    sentencepiece,
)
from tests.converters.tokenizer.support.vocab_kinds import spaced_bpe, unigram, wordpiece
from tests.support.manifests import example

_SPECIAL = {"<s>": CONTROL, "</s>": CONTROL, "<é>": USER_DEFINED}
KINDS: dict[str, dict[str, Any]] = {
    "byte level": byte_level(merges=[("Ġ", "ð"), ("ð", "Ł"), ("a", "b")], special=_SPECIAL, pre="gpt-2"),
    "SentencePiece": sentencepiece({"ab": -1.0, "a": -2.0, "b": -3.0, "▁": -4.0, "▁ab": -1.5, "é": -5.0}),
    "no prefix": sentencepiece({"ab": -1.0, "a": -2.0, "b": -3.0, "▁": -4.0, "▁▁": -1.5}, add_space_prefix=False),
    "BPE": spaced_bpe(["ab ab\n"], count=2),
    "Unigram": unigram(["ab ab é"], add_space_prefix=True),
    "WordPiece": wordpiece(["ab é"]),
}


def _pieces(metadata: dict[str, Any]) -> tuple[Tokenizer, TokenBytes]:
    content = export_tokenizer(metadata).tokenizer_json
    assert content is not None
    tokenizer = Tokenizer.from_buffer(content)
    return tokenizer, TokenBytes(tokenizer)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_those_of_llama_cpp(kind: str, tmp_path: Path) -> None:
    with both(KINDS[kind], tmp_path) as (_, decoding):
        assert not decoding.differing_pieces()


@pytest.mark.parametrize("kind", ["byte level", "SentencePiece", "no prefix"])
def test_a_stream_is_the_text(kind: str) -> None:
    tokenizer, pieces = _pieces(KINDS[kind])
    for text in STRINGS:
        stream = pieces.stream()
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        parts = [stream(token) for token in ids]
        assert "".join(parts) == tokenizer.decode(ids)
        assert "\ufffd" not in "".join(parts) or "\ufffd" in text
        assert all(part == "" or part.isprintable() or part in text.replace("▁", " ") for part in parts)


@pytest.mark.parametrize("kind", ["byte level", "SentencePiece", "BPE"])
def test_tokens_at_random(kind: str) -> None:
    """Also bytes that are no UTF-8, alone and after whole characters: nothing fails, nothing is said twice."""
    tokenizer, pieces = _pieces(KINDS[kind])
    rng = random.Random(0)
    for _ in range(300):
        ids = [rng.randrange(tokenizer.get_vocab_size() + 3) for _ in range(rng.randint(1, 12))]
        stream = pieces.stream()
        text = "".join(stream(token) for token in ids)
        added = tokenizer.get_added_tokens_decoder()
        whole = b"".join(pieces.of(i) for i in ids if i not in added or not added[i].special)
        whole = whole.removeprefix(b" ") if kind == "SentencePiece" else whole
        assert whole.decode(errors="replace").startswith(text)


def test_control_tokens_are_no_bytes_whatever_their_name() -> None:
    metadata = sentencepiece({"a": -1.0})
    metadata["tokenizer.ggml.token_type"][3 + 0x41] = CONTROL
    tokenizer, pieces = _pieces(metadata)
    assert pieces.of(tokenizer.token_to_id("<0x41>")) == b"<0x41>"


def test_characters_wait_for_their_last_byte() -> None:
    tokenizer, pieces = _pieces(KINDS["SentencePiece"])
    stream = pieces.stream()
    ids = [tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in "é€😀".encode()]
    assert [stream(token) for token in ids] == ["", "é", "", "", "€", "", "", "", "😀"]


def test_broken_bytes_end_where_the_next_token_begins() -> None:
    """The decoder of `tokenizers` takes back the whole character that it gave before, and fails."""
    tokenizer, pieces = _pieces(KINDS["SentencePiece"])
    stream = pieces.stream()
    ids = [
        *(tokenizer.token_to_id(f"<0x{byte:02X}>") for byte in (0xC3, 0xA9, 0xE2)),
        *2 * [tokenizer.token_to_id("a")],
    ]
    assert [stream(token) for token in ids] == ["", "é", "", "\ufffda", "a"]


def test_broken_bytes_are_replaced_when_no_next_byte_can_mend_them() -> None:
    """Text before and after them is whole, and so is a character that begins where they end."""
    tokenizer, pieces = _pieces(KINDS["byte level"])
    names = byte_characters()

    def printed(data: bytes) -> list[str]:
        stream = pieces.stream()
        return [stream(tokenizer.token_to_id(names[byte])) for byte in data]

    assert printed(b"a\xe2\x82b") == ["a", "", "", "\ufffdb"]
    assert printed(b"\xf0\x9f\xc3\xa9") == ["", "", "\ufffd", "é"]
    assert printed(b"\x80\xffa") == ["\ufffd", "\ufffd", "a"]
    assert printed("é😀".encode()[:-1]) == ["", "é", "", "", ""]  # the end: nothing of a character that is not whole


def test_special_tokens_do_not_part_a_character() -> None:
    tokenizer, pieces = _pieces(KINDS["SentencePiece"])
    stream = pieces.stream()
    assert [stream(tokenizer.token_to_id(text)) for text in ("<0xC3>", "</s>", "<0xA9>")] == ["", "", "é"]


def test_only_the_first_space_is_left_out() -> None:
    tokenizer, pieces = _pieces(KINDS["SentencePiece"])
    stream = pieces.stream()
    ids = [tokenizer.token_to_id(text) for text in ("<s>", "▁ab", "▁ab", "</s>", "▁", "ab")]
    assert [stream(token) for token in ids] == ["", "ab", " ab", "", " ", "ab"]


def test_a_folder_that_lost_its_tokenizer_is_not_one_without(tmp_path: Path) -> None:
    manifest = {**example().as_dict(), "files": {"model.onnx": 5, "tokenizer.json": 5}}
    (tmp_path / "mobius.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="is missing"):
        TextCodec(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{xxx}")
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(InputError, match="the tokenizer cannot be read"):
        TextCodec(tmp_path)
    (tmp_path / "mobius.json").write_text(json.dumps({**manifest, "files": {}}))
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="has no tokenizer: its model takes ids"):
        TextCodec(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        TextCodec(tmp_path / "nowhere")
