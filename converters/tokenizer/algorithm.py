"""What a tokenizer kind decides: the parts of `tokenizer.json` that differ between kinds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from converters.tokenizer.vocabulary import Vocabulary

Json = dict[str, Any]


@dataclass(frozen=True)
class Algorithm:
    """One kind of tokenizer, set up for one vocabulary."""

    # The class that makes onnxruntime-genai and transformers read these parts as they are.
    tokenizer_class: str
    # Ids of the two tokens of each merge, the first to apply first.
    merges: list[tuple[int, int]]
    normalizer: Json | None
    pre_tokenizer: Json | None
    decoder: Json
    add_bos: bool
    # Whether characters that are no token become the unknown token; else they are dropped.
    keeps_unknown: bool = False
    model_options: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """A value of `tokenizer.ggml.model`: its assumptions, and how to set it up."""

    # What llama.cpp takes for ids that the file does not give.
    default_ids: Mapping[str, int]
    build: Callable[[Mapping[str, Any], Vocabulary, list[str]], Algorithm]
