"""BPE on characters (`tokenizer.ggml.model` = gemma4, and gpt2 with some pre-tokenizers) against llama.cpp."""

import os
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from repack.errors import MobiusError
from tests.converters.tokenizer.support.llama_pieces import both, compare
from tests.converters.tokenizer.support.many_strings import many_strings
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_files import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from tests.converters.tokenizer.support.vocab_kinds import spaced_bpe

COUNT = int(os.environ.get("MOBIUS_TEST_STRINGS", "300"))
# Of each type; what is not matched first is read by its characters. Also white space that is a token.
_TYPED = {"<ctl>": CONTROL, "<usr>": USER_DEFINED, "<unk2>": UNKNOWN, "<old>": UNUSED, "<x>": NORMAL, "\n" * 5: 4}
_SPECIAL = ["<bos>", "<turn|>", "<user>", "<unk>", *_TYPED]
_ATOMS = ["\n", "\n\n\n", " ", "  ", "▁", "a", "é", "\u0378", "\r\n", "<user>"]
TEXTS = [*many_strings(COUNT, special=_SPECIAL), *STRINGS]
_ALL_TEXTS = [*TEXTS, *map("".join, product(_ATOMS, repeat=3)), *(f"a{chr(c)}b {chr(c)} " for c in range(1, 0x180))]
_WHITE = [*map(chr, range(9, 14)), "\x1c", "\x1f", "\x85", "\xa0", "\u1680", "\u180e", "\u200b", "\u2028", "\u3000"]
_ALWAYS_BOS = ("gemma4", "granite-embed-multi-311m")
_SPACED = [*_ALWAYS_BOS, "mmbert", "sarvam-moe"]


def _with(metadata: dict[str, Any], tokens: dict[str, int], **keys: Any) -> dict[str, Any]:
    """More tokens, or other types of those that are there, and other keys."""
    types = dict(zip(metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"], strict=True)) | tokens
    more = {"tokens": list(types), "token_type": [int(kind) for kind in types.values()]}
    return metadata | {f"tokenizer.ggml.{key}": value for key, value in (more | keys).items()}


def _plain_text(name: str, tokens: dict[str, int], **keys: Any) -> dict[str, Any]:
    return _with(spaced_bpe(TEXTS), tokens, model="gpt2", pre=name, **keys)


@pytest.mark.parametrize("keys", [{}, {"add_bos_token": False, "add_eos_token": True}], ids=["", "ends"])
def test_same_ids(keys: dict[str, bool], tmp_path: Path) -> None:
    files, differing = compare(_with(spaced_bpe(TEXTS), _TYPED, **keys), _ALL_TEXTS, tmp_path)
    assert not differing
    assert all("genai cuts long words" in warning for warning in files.warnings)
    assert files.add_bos  # llama.cpp overrules a file that says otherwise
    assert files.eos_token_ids[0] == 1


@pytest.mark.parametrize("name", _SPACED)
@pytest.mark.parametrize(
    "keys", [{}, {"add_bos_token": False, "add_eos_token": True, "add_space_prefix": True}, {"add_bos_token": True}]
)
def test_same_ids_by_pre_tokenizer(name: str, keys: dict[str, bool], tmp_path: Path) -> None:
    files, differing = compare(_plain_text(name, _TYPED, **keys), _ALL_TEXTS, tmp_path)
    assert not differing
    assert [warning for warning in files.warnings if "genai" not in warning] == []
    assert files.add_bos == (name in _ALWAYS_BOS or keys.get("add_bos_token", False))
    assert any("genai" in warning for warning in files.warnings)


def test_words_without_an_escape_for_spaces(tmp_path: Path) -> None:
    """llama.cpp ends the process on two white-space characters with a space among them: the texts have none."""
    metadata = _plain_text("whitespace", _TYPED | {" ": NORMAL}, add_eos_token=True)
    with both(metadata, tmp_path) as (files, decoding):
        ours, llama = decoding.ours, decoding.llama
        for text in [*_ALL_TEXTS, *(f"a{space}b{space}{other}" for space in _WHITE for other in _WHITE)]:
            text = re.sub(r"\s{2,}", lambda run: run[0].replace(" ", "") or " ", text)
            assert ours.encode(text, add_special_tokens=False).ids == llama.encode(text), repr(text)
            ids = ours.encode(text).ids
            assert ids == llama.encode(text, add_special=True), repr(text)
            assert ours.decode(ids[:-1], skip_special_tokens=False) == text, repr(text)
        assert set(files.eos_token_ids) == llama.stops()
    assert ours.decode(ours.encode("a  b", add_special_tokens=False).ids) == "a  b"
    assert "crashes on two white-space characters" in files.warnings[0]
    assert "genai" in files.warnings[1]


def test_decoding_gives_the_text_back() -> None:
    files = export_tokenizer(spaced_bpe(TEXTS))
    assert files.tokenizer_json is not None
    tokenizer = Tokenizer.from_buffer(files.tokenizer_json)
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text.replace("▁", " ")


def _metadata(tokens: list[str], merges: list[str], **keys: Any) -> dict[str, Any]:
    metadata = spaced_bpe(["a"], count=0)
    for key in ("tokens", "token_type"):
        metadata[f"tokenizer.ggml.{key}"] = metadata[f"tokenizer.ggml.{key}"][:263]
    return _with(metadata, dict.fromkeys(tokens, NORMAL), merges=merges, **keys)


@pytest.mark.parametrize("name", _SPACED)
def test_runs_of_line_feeds(name: str, tmp_path: Path) -> None:
    keys = {"model": "gpt2", "pre": name}
    lines = ["\n", "\n\n", "\n\n\n"]
    texts = ["a" + "\n" * n + "b" for n in range(1, 9)]
    files, differing = compare(_metadata(["a", "b", *lines], ["\n \n", "\n\n \n"], **keys), texts, tmp_path)
    assert not differing
    assert not any("line feeds" in warning for warning in files.warnings)
    files, differing = compare(_metadata(["a", "b", *lines], ["\n \n"], **keys), texts, tmp_path)
    if name == "sarvam-moe":
        assert not differing
        assert not files.warnings
    else:
        assert differing == ["a\n\n\nb"]
        assert "1 tokens of line feeds, for example '\\n\\n\\n'" in files.warnings[0]


@pytest.mark.parametrize("name", _SPACED)
def test_merges_with_spaces_take_no_part(name: str, tmp_path: Path) -> None:
    tokens = ["a", "b", "c", "b c", "ab c", " a", " ab", " ", "  a", "▁", "▁a", "ab", "▁ab"]
    merges = ["a b c", " a b", "▁ a", "a b", "▁a b", " a", "a ", "ab"]
    metadata = _metadata(tokens, merges, model="gpt2", pre=name)
    files, differing = compare(metadata, ["ab c", " ab", "ab", " ab  abc b c"], tmp_path)
    assert not differing
    assert any(warning.startswith("5 merges") for warning in files.warnings)


def test_missing_bytes_are_announced_and_merges_needed() -> None:
    metadata = _metadata(["a", "b"], [])
    metadata["tokenizer.ggml.tokens"][7] = "c"  # was <0x00>
    assert any("1 of the 256 byte tokens" in warning for warning in export_tokenizer(metadata).warnings)
    for keys in ({}, {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "mmbert"}):
        with pytest.raises(MobiusError, match="no merges"):
            export_tokenizer({k: v for k, v in (metadata | keys).items() if k != "tokenizer.ggml.merges"})
