"""Every pre-tokenizer against llama.cpp, with a vocabulary whose merges show where words end."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from converters.tokenizer import export_tokenizer
from converters.tokenizer.pretokenizers import PRE_TOKENIZERS
from repack.errors import MobiusError
from tests.converters.tokenizer.support.byte_vocab import ByteVocab, as_text, damaged
from tests.converters.tokenizer.support.pre_strings import NEWER, around, merges_across_characters, word_strings
from tests.converters.tokenizer.support.strings import STRINGS
from tests.converters.tokenizer.support.vocab_files import (
    CONTROL,
    assert_same_as_llama,
    byte_characters,
    byte_level,
    write_gguf,
)
from tests.support.llama_vocab import LlamaVocab

_BYTES = byte_characters()
_MERGES = merges_across_characters()
_NAMES = [name for entry in PRE_TOKENIZERS for name in entry.names]
_SPECIAL = {"<|endoftext|>": CONTROL, "<|x|>": CONTROL}


@pytest.mark.parametrize("name", [entry.names[0] for entry in PRE_TOKENIZERS])
def test_words_are_those_of_llama_cpp(name: str, tmp_path: Path) -> None:
    texts = [text for text in STRINGS if NEWER.isdisjoint(text)]
    assert_same_as_llama(byte_level(merges=_MERGES, pre=name), [*texts, *around()], tmp_path)


@pytest.mark.parametrize("name", [entry.names[0] for entry in PRE_TOKENIZERS])
def test_long_runs_of_spaces_are_cut_as_in_llama_cpp(name: str, tmp_path: Path) -> None:
    doublings = [("Ġ" * (1 << power), "Ġ" * (1 << power)) for power in range(11)]
    lengths = [
        *range(1, 20),
        *(power + more for power in (32, 64, 128, 256, 512, 1024) for more in (-1, 0, 1)),
        768,
        1100,
    ]
    texts = [f"a{' ' * length}{end}" for length in lengths for end in ("", "b", "\n", "\nb", "1", ".")]
    assert_same_as_llama(byte_level(merges=doublings, pre=name), texts, tmp_path)


@pytest.mark.parametrize("name", _NAMES)
def test_made_up_texts_get_the_ids_of_llama_cpp(name: str, tmp_path: Path) -> None:
    metadata = byte_level(merges=_MERGES, special=_SPECIAL, pre=name)
    assert_same_as_llama(metadata, word_strings(300, seed=_NAMES.index(name), special=[*_SPECIAL]), tmp_path)


@pytest.mark.parametrize("name", _NAMES)
def test_whole_words_that_are_tokens_are_split_only_where_llama_cpp_does(name: str, tmp_path: Path) -> None:
    merges = [("a", "b"), ("c", "d"), ("b", "c"), ("bc", "d"), ("a", "bcd")]  # the merges alone give ab cd
    assert_same_as_llama(byte_level(merges=merges, pre=name), ["abcd", " abcd", "xabcd"], tmp_path)


def test_characters_since_unicode_16_are_the_only_ones_that_differ(tmp_path: Path) -> None:
    metadata = byte_level(merges=_MERGES, pre="deepseek-v3")
    ours = Tokenizer.from_buffer(export_tokenizer(metadata).tokenizer_json)
    llama = LlamaVocab(write_gguf(tmp_path / "vocab.gguf", metadata))
    try:
        for c in sorted(NEWER)[::50]:
            text = f"a{c}a 1{c}1 {c} !{c}! {c}!"
            assert ours.encode(text, add_special_tokens=False).ids != llama.encode(text), f"no difference: {ord(c):X}"
    finally:
        llama.close()


def test_bytes_that_are_no_text_are_read_as_replacement_characters(tmp_path: Path) -> None:
    """llama.cpp takes bytes. The `tokenizers` library takes text: who calls it has to replace each wrong byte."""
    metadata = byte_level(merges=_MERGES, pre="llama-bpe")
    ours = Tokenizer.from_buffer(export_tokenizer(metadata).tokenizer_json)
    llama = ByteVocab(write_gguf(tmp_path / "vocab.gguf", metadata))
    assert as_text(b"a\xffb \xe4\xb8 \xf0\x9f!") == "a\ufffdb \ufffd\ufffd \ufffd\ufffd!"
    try:
        for data in [b"a\xffb", b"\xe4\xb8", b" \x80\x801", b"\xf0\x9f!\n", *damaged(word_strings(300))]:
            assert ours.encode(as_text(data), add_special_tokens=False).ids == llama.encode_bytes(data), data
    finally:
        llama.close()


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
    for name, added in (("llama-bpe", True), ("tekken", True), ("chameleon", True), ("smollm", False)):
        files = assert_same_as_llama(byte_level(pre=name), ["hi", ""], tmp_path)
        assert files.tokenizer_config is not None
        assert files.add_bos == files.tokenizer_config["add_bos_token"] == added
        assert not assert_same_as_llama(byte_level(pre=name, add_bos_token=False), ["hi"], tmp_path).add_bos


@pytest.mark.parametrize("keys", [{}, {"pre": ""}])
def test_no_name_is_llama_cpps_default_and_a_warning(keys: dict[str, str], tmp_path: Path) -> None:
    texts = ["It's 12345 ...", "a  b1234567", "x=y;\n\n 1"]
    files = assert_same_as_llama(byte_level(merges=_MERGES, **keys), texts, tmp_path)
    assert any("does not name its pre-tokenizer" in warning for warning in files.warnings)
    assert files.tokenizer_json == export_tokenizer(byte_level(merges=_MERGES, pre="default")).tokenizer_json


def test_unknown_name_is_refused_with_the_nearest() -> None:
    for name, nearest in (
        ("lama-bpe", "llama-bpe"),
        ("Qwen_2", "qwen2"),
        ("deepseek-v4", "deepseek-v3"),
        ("mmBERT2", "mmbert"),
    ):
        with pytest.raises(MobiusError, match=f"'{name}'.*not known") as refusal:
            export_tokenizer(byte_level(pre=name))
        assert nearest in refusal.value.hint.split(": ")[1].split(", ")
    with pytest.raises(MobiusError, match="'§'") as refusal:
        export_tokenizer(byte_level(pre="§"))
    assert "smollm" in refusal.value.hint


def test_one_name_needs_no_merges(tmp_path: Path) -> None:
    for name in ("kimi-k2", "qwen2"):
        metadata = byte_level(merges=_MERGES, special=_SPECIAL, pre=name)
        del metadata["tokenizer.ggml.merges"]
        if name == "kimi-k2":
            texts = [*word_strings(300, special=[*_SPECIAL]), *around()]
            files = assert_same_as_llama(metadata, texts, tmp_path)
            assert any("has no merges" in warning for warning in files.warnings)
        else:
            with pytest.raises(MobiusError, match="no merges"):
                export_tokenizer(metadata)


def test_each_name_stands_once() -> None:
    assert len(_NAMES) == len(set(_NAMES)) == 87


def test_patterns_that_genai_does_not_know_are_announced() -> None:
    assert any("onnxruntime-genai" in w for w in export_tokenizer(byte_level(pre="default")).warnings)
    assert not export_tokenizer(byte_level(pre="gpt-2")).warnings
