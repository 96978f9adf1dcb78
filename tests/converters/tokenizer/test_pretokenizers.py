"""Every pre-tokenizer against llama.cpp, with a vocabulary whose merges show where words end."""

import unicodedata
from pathlib import Path

import pytest

from converters.tokenizer import export_tokenizer
from converters.tokenizer.pretokenizers import PRE_TOKENIZERS
from repack.errors import MobiusError
from tests.converters.tokenizer.strings import STRINGS
from tests.converters.tokenizer.vocab_files import assert_same_as_llama, byte_characters, byte_level

_BYTES = byte_characters()
_CONTEXT = b"a1 !\n'A"
# Each context byte joins whatever stands before or after it, unless the two are in different words.
_MERGES = list(
    dict.fromkeys(
        [(_BYTES[c], byte) for c in _CONTEXT for byte in _BYTES]
        + [(byte, _BYTES[c]) for c in _CONTEXT for byte in _BYTES]
        + [(_BYTES[last], _BYTES[first]) for last in range(0x80, 0xC0) for first in range(0xC2, 0xF5)]
    )
)


def _around(c: str) -> str:
    return f"a{c}a{c}{c}1{c}1{c}{c} {c} {c}! {c}a {c}1 {c}!{c}!{c}{c}\n{c}\n !{c}  {c}A'{c}'s{c}{c}{c}"


# A few characters of every category, up to Unicode 14 (newer ones are known to one side only).
_BY_CATEGORY: dict[str, list[str]] = {}
for _code in [*range(0xD800), *range(0xE000, 0x20000, 3), 0xE0001, 0xE0100, 0xF0000]:
    _BY_CATEGORY.setdefault(unicodedata.category(chr(_code)), []).append(chr(_code))
del _BY_CATEGORY["Cn"]
_SAMPLE = [c for same in _BY_CATEGORY.values() for c in [*same[:12], *same[12 :: len(same) // 12 + 1]]]
_DIGITS = ["1234567", "१२३४५", "12३४5", "a1234 5678", " 1 22 333 4444", "1,234.5", "x12345y", "²³¹²³¹"]


@pytest.mark.parametrize("names", [entry.names for entry in PRE_TOKENIZERS], ids=lambda names: names[0])
def test_words_are_those_of_llama_cpp(names: tuple[str, ...], tmp_path: Path) -> None:
    metadata = byte_level(merges=_MERGES, pre=names[0])
    assert_same_as_llama(metadata, [*STRINGS, *_DIGITS, *map(_around, _SAMPLE)], tmp_path)


@pytest.mark.parametrize("name", [name for entry in PRE_TOKENIZERS for name in entry.names[1:]])
def test_other_names_mean_the_same_in_llama_cpp(name: str, tmp_path: Path) -> None:
    texts = [*_DIGITS, *STRINGS[::9], *map(_around, "é中٣\u0301\u3000€")]
    assert_same_as_llama(byte_level(merges=_MERGES, pre=name), texts, tmp_path)


def test_whole_words_that_are_tokens_are_not_split(tmp_path: Path) -> None:
    merges = [("a", "b"), ("c", "d"), ("b", "c"), ("bc", "d"), ("a", "bcd")]  # the merges alone give ab cd
    for name, whole in (("llama-bpe", True), ("glm4", True), ("dbrx", False), ("qwen2", False)):
        files = assert_same_as_llama(byte_level(merges=merges, pre=name), ["abcd", " abcd", "xabcd"], tmp_path)
        assert ('"ignore_merges":true' in files.tokenizer_json) == whole


def test_bytes_without_a_token_keep_their_neighbours_apart(tmp_path: Path) -> None:
    metadata = byte_level(merges=[("a", "b"), ("Ġ", "a")], pre="gpt-2")
    for missing in (0x16, ord("x")):
        tokens = metadata["tokenizer.ggml.tokens"]
        tokens[tokens.index(_BYTES[missing])] = f"[no {missing}]"
    files = assert_same_as_llama(metadata, ["a\x16b", "axb", "a\x16x\x16b ab", "\x16", " \x16a", "x"], tmp_path)
    assert not files.warnings


def test_gaps_that_can_matter_are_announced() -> None:
    metadata = byte_level(pre="gpt-2")
    tokens = metadata["tokenizer.ggml.tokens"]
    for missing, matters in ((0xF5, False), (0xF1, False), (0xC3, True), (ord("b"), True)):
        changed = [text if text != _BYTES[missing] else "[no]" for text in tokens]
        warnings = export_tokenizer({**metadata, "tokenizer.ggml.tokens": changed}).warnings
        assert any("bytes have no token" in warning for warning in warnings) == matters, hex(missing)


def test_bos_is_added_by_default_where_llama_cpp_does(tmp_path: Path) -> None:
    for name, added in (("llama-bpe", True), ("smollm", False)):
        files = assert_same_as_llama(byte_level(pre=name), ["hi", ""], tmp_path)
        assert files.add_bos == files.tokenizer_config["add_bos_token"] == added
        assert not assert_same_as_llama(byte_level(pre=name, add_bos_token=False), ["hi"], tmp_path).add_bos


def test_no_name_is_llama_cpps_default_and_a_warning(tmp_path: Path) -> None:
    texts = ["It's 12345 ...", "a  b1234567", "x=y;\n\n 1"]
    files = assert_same_as_llama(byte_level(merges=_MERGES), texts, tmp_path)
    assert any("does not name its pre-tokenizer" in warning for warning in files.warnings)
    assert files.tokenizer_json == export_tokenizer(byte_level(merges=_MERGES, pre="default")).tokenizer_json


def test_unknown_name_is_refused() -> None:
    with pytest.raises(MobiusError, match="'own-bpe'") as refusal:
        export_tokenizer(byte_level(pre="own-bpe"))
    assert "smollm" in refusal.value.hint


def test_patterns_that_genai_does_not_know_are_announced() -> None:
    assert any("onnxruntime-genai" in w for w in export_tokenizer(byte_level(pre="default")).warnings)
    assert not export_tokenizer(byte_level(pre="qwen2")).warnings
