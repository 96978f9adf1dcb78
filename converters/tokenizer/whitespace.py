"""BPE of words without the spaces between them (`tokenizer.ggml.model` = whitespace): tokens of plain text.

A text of ids has no spaces then. llama.cpp's own texts of such ids are of no use, for it takes characters for bytes.
"""

from collections.abc import Mapping
from typing import Any

from converters.tokenizer.algorithm import LOWERCASE, Algorithm, Kind, split
from converters.tokenizer.bpe import bpe_model, read_merges
from converters.tokenizer.vocabulary import BYTE_TOKENS, KEY, Vocabulary
from repack.errors import MobiusError

_CLASS_SIZE = 9000  # the engine for regular expressions takes no more than 10,000 characters in one pair of brackets


def _build(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    known = [rf"\x{{{ord(text):X}}}" for text in vocabulary.tokens if len(text) == 1]
    if metadata.get(KEY + "pre") != "whitespace" or not known or not vocabulary.ids.keys().isdisjoint(BYTE_TOKENS):
        raise MobiusError(
            "a tokenizer of the kind 'whitespace' needs the pre-tokenizer of that name (tokenizer.ggml.pre), "
            "tokens of one character, and no byte tokens"
        )
    classes = ["".join(known[i : i + _CLASS_SIZE]) for i in range(0, len(known), _CLASS_SIZE)]
    unknown = "".join(f"(?![{characters}])" for characters in classes) + "."
    warnings.append("onnxruntime-genai does not load a tokenizer of this kind: encode with the tokenizers library")
    lowercase = bool(metadata.get(KEY + "normalizer.lowercase"))
    return Algorithm(
        tokenizer_class="PreTrainedTokenizerFast",
        model=bpe_model(),
        normalizer={"type": "Sequence", "normalizers": list(LOWERCASE)} if lowercase else None,
        # Characters without a token disappear, but no merge joins what was around them.
        pre_tokenizer=split(rf"\s|{unknown}", regex=True, behavior="Removed"),
        decoder={"type": "Fuse"},
        merges=list(read_merges(metadata, vocabulary.ids, warnings)),
    )


WHITESPACE = Kind("BPE of words without spaces", {"bos": 11, "eos": 11}, _build)
