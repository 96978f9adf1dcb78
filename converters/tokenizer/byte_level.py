"""Byte-level BPE: words from a pre-tokenizer, merges from the file.

It is the kind of `tokenizer.ggml.model` = gpt2, but for some names in `tokenizer.ggml.pre`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from converters.tokenizer.algorithm import Algorithm, Json, Kind, split
from converters.tokenizer.bpe import bpe_model, read_merges
from converters.tokenizer.pretokenizers import DEFAULT, PreTokenizer, find_pre_tokenizer
from converters.tokenizer.spaced_bpe import PLAIN_TEXT
from converters.tokenizer.vocabulary import BYTE_CHARACTERS, KEY, Vocabulary

_BYTES: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
# llama.cpp loads files with these pre-tokenizers without merges.
_NEEDS_NO_MERGES = ("kimi-k2",)
# Where the file names no BOS, models with these pre-tokenizers have none.
_NO_BOS = ("chatglm-bpe", "glm4", "glm5")
# Bytes in the UTF-8 of any character that exists: planes 4 to 13 (0xF1, 0xF2) are empty.
_USED_BYTES = frozenset([*range(0xC0), *range(0xC2, 0xF1), 0xF3, 0xF4])


def _build(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    pre_tokenizer = _pre_tokenizer(metadata, warnings)
    if pre_tokenizer.genai_warning is not None:
        warnings.append(pre_tokenizer.genai_warning)
    splits = [split(pattern, regex=True) for pattern in pre_tokenizer.patterns]
    splits += _cuts_at_missing_bytes(vocabulary, warnings)
    return Algorithm(
        tokenizer_class="PreTrainedTokenizerFast",
        model=bpe_model(ignore_merges=pre_tokenizer.whole_words),
        normalizer=None,
        pre_tokenizer={"type": "Sequence", "pretokenizers": [*splits, _BYTES]},
        decoder=_BYTES,
        merges=_merges(metadata, vocabulary, warnings),
        add_bos=pre_tokenizer.add_bos,
    )


def _merges(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> list[tuple[int, int]]:
    if metadata.get(KEY + "merges") is None and metadata.get(KEY + "pre") in _NEEDS_NO_MERGES:
        warnings.append(
            "the file has no merges (tokenizer.ggml.merges): like in llama.cpp, each byte of a text is a token; "
            "that is not what the model was trained on"
        )
        return []
    return list(read_merges(metadata, vocabulary.ids, warnings))


def _cuts_at_missing_bytes(vocabulary: Vocabulary, warnings: list[str]) -> list[Json]:
    """A byte without a token disappears, but keeps its neighbours apart in llama.cpp: cut there.

    Cut at a text, not at a pattern, because onnxruntime-genai loads only patterns that it knows.
    """
    missing = [byte for byte, text in enumerate(BYTE_CHARACTERS) if text not in vocabulary.ids]
    # The bytes of longer characters cannot be cut out. Nor may a byte that has no token be part of one.
    inner = [byte for byte in missing if byte >= 0x80 and byte in _USED_BYTES]
    joined = vocabulary.joined_text(~vocabulary.matched_first)
    parts = [byte for byte in missing if BYTE_CHARACTERS[byte] in joined]
    if inner or parts:
        warnings.append(
            f"{len(missing)} of the 256 bytes have no token: "
            "text with the characters that need them can get other ids than in llama.cpp"
        )
    return [split(chr(byte)) for byte in missing if byte < 0x80]


def _pre_tokenizer(metadata: Mapping[str, Any], warnings: list[str]) -> PreTokenizer:
    name = metadata.get(KEY + "pre")
    if name:
        return find_pre_tokenizer(str(name))
    warnings.append(
        "the file does not name its pre-tokenizer (tokenizer.ggml.pre): llama.cpp's 'default' is used; "
        "if the model was trained with another, its token ids and its quality differ"
    )
    return DEFAULT


BYTE_LEVEL = Kind("byte-level BPE", {}, _build)


def gpt2_kind(metadata: Mapping[str, Any]) -> Kind:
    """What a file of `tokenizer.ggml.model` = gpt2 is, by the name of its pre-tokenizer.

    An id that the file lacks is that of Falcon's `<|endoftext|>`.
    """
    pre = str(metadata.get(KEY + "pre"))
    ids = {"eos": 11} if pre in _NO_BOS else {"bos": 11, "eos": 11}
    return replace(BYTE_LEVEL, default_ids=ids, build=PLAIN_TEXT.get(pre, BYTE_LEVEL.build))
