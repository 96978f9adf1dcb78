"""From the metadata of a GGUF file to the tokenizer files of a model folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from converters.tokenizer.added_tokens import added_tokens
from converters.tokenizer.algorithm import Algorithm
from converters.tokenizer.byte_level import BYTE_LEVEL, gpt2_kind
from converters.tokenizer.plamo2 import PLAMO2
from converters.tokenizer.sentencepiece import SENTENCEPIECE
from converters.tokenizer.spaced_bpe import SPACED_BPE
from converters.tokenizer.special import SpecialTokens, read_special_tokens, read_suppressed, settle_assumed
from converters.tokenizer.templates import read_templates
from converters.tokenizer.tokenizer_json import tokenizer_json
from converters.tokenizer.unigram import UNIGRAM
from converters.tokenizer.vocabulary import KEY, Vocabulary, read_vocabulary
from converters.tokenizer.whitespace import WHITESPACE
from converters.tokenizer.wordpiece import WORDPIECE
from repack.errors import MobiusError

_KINDS = {
    "gpt2": BYTE_LEVEL,
    "llama": SENTENCEPIECE,
    "gemma4": SPACED_BPE,
    "t5": UNIGRAM,
    "bert": WORDPIECE,
    "plamo2": PLAMO2,
    "whitespace": WHITESPACE,
}
# Those that `tokenizers` cannot do.
_NO_MODEL = {
    "rwkv": "RWKV's takes the longest token again and again, on bytes, for which tokenizer.json has no model",
    "hybriddna": "byte-level BPE with DNA between <dna> and </dna>, cut by sixes and filled up with A: "
    "tokenizer.json has no model for that",
    "test": "llama.cpp's own tests make ids from sums of bytes with it: it is no tokenizer of a model",
}
# What models without a tokenizer say: they are fed with ids.
NO_TOKENIZER = ("none", "no_vocab")


@dataclass(frozen=True)
class TokenizerFiles:
    """The tokenizer of a model: the contents of its files, and the ids that other files need.

    A model without a tokenizer has none, and no ids.
    """

    tokenizer_json: bytes | None = None
    tokenizer_config: dict[str, Any] | None = None
    chat_template: str | None = None
    named_templates: Mapping[str, str] = field(default_factory=dict)
    bos_token_id: int | None = None
    # Generation stops at each of these; the first is the end-of-sequence token proper.
    eos_token_ids: tuple[int, ...] = ()
    pad_token_id: int | None = None
    # Never to be generated.
    suppress_token_ids: tuple[int, ...] = ()
    add_bos: bool = False
    warnings: tuple[str, ...] = ()


def export_tokenizer(metadata: Mapping[str, Any]) -> TokenizerFiles:
    """Write the tokenizer so that it gives llama.cpp's ids, or refuse."""
    model = metadata.get(KEY + "model")
    if model is None:
        raise MobiusError("the file has no tokenizer (tokenizer.ggml.model)")
    if model in NO_TOKENIZER:
        return TokenizerFiles(warnings=(f"the file has no tokenizer (its kind is '{model}'), nor gets the folder one",))
    kind = gpt2_kind(metadata) if model == "gpt2" else _KINDS.get(str(model))
    if kind is None:
        reason = f"supported: {_NO_MODEL[model]}" if str(model) in _NO_MODEL else "known"
        supported = ", ".join(f"{name} ({kind.title})" for name, kind in _KINDS.items())
        raise MobiusError(
            f"the tokenizer kind '{model}' (tokenizer.ggml.model) is not {reason}",
            f"supported: {supported}, {' and '.join(NO_TOKENIZER)} (without a tokenizer)",
        )
    warnings: list[str] = []
    vocabulary = read_vocabulary(metadata, warnings)
    special = read_special_tokens(metadata, vocabulary, kind.default_ids, warnings)
    if kind.needs_unknown and special.unk is None:
        raise MobiusError(f"a {kind.title} vocabulary needs an unknown token ({KEY}unknown_token_id)")
    vocabulary = replace(vocabulary, types=special.types)
    algorithm = kind.build(metadata, vocabulary, warnings)
    around = _around(metadata, algorithm, special, warnings)
    special = settle_assumed(special, vocabulary, around[0] is not None, warnings)
    added = added_tokens(metadata, vocabulary, warnings)
    suppressed = read_suppressed(metadata, vocabulary.tokens, warnings)
    main, named = read_templates(metadata, warnings)
    return TokenizerFiles(
        tokenizer_json=tokenizer_json(vocabulary, algorithm, added, special.unk, around),
        tokenizer_config={
            "tokenizer_class": algorithm.tokenizer_class,
            **_named_tokens(vocabulary, special),
            "add_bos_token": around[0] is not None,
            "add_eos_token": around[1] is not None and not algorithm.always_sep,
            "clean_up_tokenization_spaces": False,
        },
        chat_template=main,
        named_templates=named,
        bos_token_id=special.bos,
        eos_token_ids=special.stops,
        pad_token_id=special.pad,
        suppress_token_ids=suppressed,
        add_bos=around[0] is not None,
        warnings=tuple(warnings),
    )


def _around(
    metadata: Mapping[str, Any], algorithm: Algorithm, special: SpecialTokens, warnings: list[str]
) -> tuple[int | None, int | None]:
    """The tokens before and after every text."""
    add_bos = algorithm.always_bos or bool(metadata.get(KEY + "add_bos_token", algorithm.add_bos))
    before = _wanted("bos", add_bos, special.bos, warnings)
    if algorithm.always_sep:
        return before, _wanted("sep", True, special.sep, warnings)
    add_eos = bool(metadata.get(KEY + "add_eos_token", algorithm.add_eos))
    return before, _wanted("eos", add_eos, special.eos, warnings)


def _wanted(role: str, wanted: bool, token: int | None, warnings: list[str]) -> int | None:
    if wanted and token is None:
        warnings.append(f"a {role} token belongs to every text, but the file names no {role} token: none is added")
    return token if wanted else None


def _named_tokens(vocabulary: Vocabulary, special: SpecialTokens) -> dict[str, str]:
    roles = {
        "bos": special.bos,
        "eos": special.eos,
        "unk": special.unk,
        "pad": special.pad,
        "sep": special.sep,
        "mask": special.mask,
    }
    # `transformers` would cut an ordinary token that is only assumed to have a role out of every text.
    ordinary = {role for role, i in special.assumed.items() if not vocabulary.matched_first[i]}
    return {
        f"{role}_token": vocabulary.tokens[i] for role, i in roles.items() if i is not None and role not in ordinary
    }
