"""What a tokenizer kind decides: the parts of `tokenizer.json` that differ between kinds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from converters.tokenizer.vocabulary import Vocabulary

Json = dict[str, Any]
SPACE = "▁"  # stands for a space in the tokens of all kinds but byte-level BPE


@dataclass(frozen=True)
class Algorithm:
    """One kind of tokenizer, set up for one vocabulary."""

    # The class that makes onnxruntime-genai and transformers read these parts as they are.
    tokenizer_class: str
    # The `model` of tokenizer.json without its long parts: the vocabulary, and what follows here.
    model: Json
    normalizer: Json | None
    pre_tokenizer: Json | None
    decoder: Json
    # BPE: ids of the two tokens of each merge, the first to apply first.
    merges: list[tuple[int, int]] | None = None
    # Unigram: the score of each token.
    scores: list[float] | None = None
    # The tokens under the names that the file gets, where these are not the vocabulary's.
    tokens: list[str] | None = None
    # The key of `model` for the unknown token ("unk_token" or "unk_id"); without it, what is no token is dropped.
    unknown: str | None = None
    # Whether BOS goes before and EOS after every text when the file does not say.
    add_bos: bool = False
    add_eos: bool = False
    # BOS goes before every text, and SEP after it, whatever the file says.
    always_bos: bool = False
    always_sep: bool = False
    # Unused tokens have a text, which is none in all kinds but one.
    shows_unused: bool = False


# From the metadata and the vocabulary; the list takes warnings.
Build = Callable[[Mapping[str, Any], Vocabulary, list[str]], Algorithm]


@dataclass(frozen=True)
class Kind:
    """A value of `tokenizer.ggml.model`: its assumptions, and how to set it up."""

    title: str
    # What llama.cpp takes for ids that the file does not give.
    default_ids: Mapping[str, int]
    build: Build
    needs_unknown: bool = False


def replace(pattern: str, content: str, *, regex: bool = False) -> Json:
    """A normalizer or decoder that replaces a text, or all that a regular expression matches."""
    return {"type": "Replace", "pattern": {"Regex" if regex else "String": pattern}, "content": content}


def split(pattern: str, *, regex: bool = False, behavior: str = "Isolated") -> Json:
    """A pre-tokenizer that cuts at a text, or at all that a regular expression matches."""
    return {
        "type": "Split",
        "pattern": {"Regex" if regex else "String": pattern},
        "behavior": behavior,
        "invert": False,
    }


# Normalizers; the second one's own rule for this letter gives two characters.
LOWERCASE = (replace("İ", "i"), {"type": "Lowercase"})
BYTE_TOKEN_DECODER: Json = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}


def spaced_text_decoder(*, bytes_too: bool, strip: bool) -> Json:
    """Tokens in which `▁` is a space; also byte tokens, and without the space that a text begins with, if asked."""
    steps: list[Json] = [replace(SPACE, " ")]
    if bytes_too:
        steps.append({"type": "ByteFallback"})
    steps.append({"type": "Fuse"})
    if strip:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}
