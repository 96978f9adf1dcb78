"""Byte-level BPE (`tokenizer.ggml.model` = gpt2): words from a pre-tokenizer, merges from the file."""

from collections.abc import Mapping
from typing import Any

from converters.tokenizer.algorithm import Algorithm, Json, Kind
from converters.tokenizer.pretokenizers import DEFAULT, PreTokenizer, find_pre_tokenizer
from converters.tokenizer.vocabulary import KEY, Vocabulary
from repack.errors import MobiusError

_BYTES: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
# Bytes in the UTF-8 of any character that exists: planes 4 to 13 (0xF1, 0xF2) are empty.
_USED_BYTES = frozenset([*range(0xC0), *range(0xC2, 0xF1), 0xF3, 0xF4])


def _byte_characters() -> list[str]:
    """The character that stands for each byte in tokens: itself where it prints, else one from 256 on."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printing else chr(next(others)) for byte in range(0x100)]


_BYTE_CHARACTERS = _byte_characters()


def _build(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    pre_tokenizer = _pre_tokenizer(metadata, warnings)
    if not pre_tokenizer.loads_in_genai:
        warnings.append(
            f"onnxruntime-genai does not load the pre-tokenizer '{pre_tokenizer.names[0]}': "
            "encode with the tokenizers library"
        )
    splits = [_split("Regex", pattern) for pattern in pre_tokenizer.patterns]
    splits += _cuts_at_missing_bytes(vocabulary, warnings)
    return Algorithm(
        tokenizer_class="PreTrainedTokenizerFast",
        merges=_merges(metadata, vocabulary.ids, warnings),
        normalizer=None,
        pre_tokenizer={"type": "Sequence", "pretokenizers": [*splits, _BYTES]},
        decoder=_BYTES,
        add_bos=pre_tokenizer.add_bos,
        model_options={"ignore_merges": pre_tokenizer.whole_words},
    )


def _cuts_at_missing_bytes(vocabulary: Vocabulary, warnings: list[str]) -> list[Json]:
    """A byte without a token disappears, but keeps its neighbours apart in llama.cpp: cut there.

    Cut at a text, not at a pattern, because onnxruntime-genai loads only patterns that it knows.
    """
    missing = [byte for byte, text in enumerate(_BYTE_CHARACTERS) if text not in vocabulary.ids]
    # The bytes of longer characters cannot be cut out. Nor may a byte that has no token be part of one.
    inner = [byte for byte in missing if byte >= 0x80 and byte in _USED_BYTES]
    joined = vocabulary.joined_text(~vocabulary.matched_first)
    parts = [byte for byte in missing if _BYTE_CHARACTERS[byte] in joined]
    if inner or parts:
        warnings.append(
            f"{len(missing)} of the 256 bytes have no token: "
            "text with the characters that need them can get other ids than in llama.cpp"
        )
    return [_split("String", chr(byte)) for byte in missing if byte < 0x80]


def _split(kind: str, pattern: str) -> Json:
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": "Isolated", "invert": False}


def _pre_tokenizer(metadata: Mapping[str, Any], warnings: list[str]) -> PreTokenizer:
    name = metadata.get(KEY + "pre")
    if name:
        return find_pre_tokenizer(str(name))
    warnings.append(
        "the file does not name its pre-tokenizer (tokenizer.ggml.pre): llama.cpp's 'default' is used; "
        "if the model was trained with another, its token ids and its quality differ"
    )
    return DEFAULT


def _merges(metadata: Mapping[str, Any], ids: Mapping[str, int], warnings: list[str]) -> list[tuple[int, int]]:
    lines = metadata.get(KEY + "merges")
    if lines is None:
        raise MobiusError("the file has a byte-level BPE vocabulary but no merges (tokenizer.ggml.merges)")
    merges: dict[tuple[int, int], None] = {}
    unusable = 0
    for line in lines:
        cut = line.find(" ", 1)
        left, right = line[:cut], line[cut + 1 :]
        if cut > 0 and left in ids and right in ids and left + right in ids:
            merges.setdefault((ids[left], ids[right]))  # of equal merges the first counts
        else:
            unusable += 1
    if unusable:
        warnings.append(f"{unusable} merges name tokens that are not in the vocabulary: left out")
    return list(merges)


BYTE_LEVEL = Kind(default_ids={}, build=_build)
