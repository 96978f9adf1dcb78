"""From the metadata of a GGUF file to the tokenizer files of a model folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from converters.tokenizer.added_tokens import added_tokens
from converters.tokenizer.byte_level import BYTE_LEVEL
from converters.tokenizer.sentencepiece import SENTENCEPIECE
from converters.tokenizer.special import SpecialTokens, read_special_tokens
from converters.tokenizer.tokenizer_json import tokenizer_json
from converters.tokenizer.vocabulary import KEY, Vocabulary, read_vocabulary
from repack.errors import MobiusError

_KINDS = {"gpt2": BYTE_LEVEL, "llama": SENTENCEPIECE}
_KIND_NAMES = {"gpt2": "byte-level BPE", "llama": "SentencePiece-style BPE"}


@dataclass(frozen=True)
class TokenizerFiles:
    """The tokenizer of a model: the text of its files, and the ids that other files need."""

    tokenizer_json: str
    tokenizer_config: dict[str, Any]
    chat_template: str | None
    bos_token_id: int | None
    # Generation stops at each of these; the first is the end-of-sequence token proper.
    eos_token_ids: tuple[int, ...]
    pad_token_id: int | None
    add_bos: bool
    warnings: tuple[str, ...]


def export_tokenizer(metadata: Mapping[str, Any]) -> TokenizerFiles:
    """Write the tokenizer so that it gives llama.cpp's ids, or refuse."""
    model = metadata.get(KEY + "model")
    if model is None:
        raise MobiusError("the file has no tokenizer (tokenizer.ggml.model)")
    kind = _KINDS.get(str(model))
    if kind is None:
        supported = ", ".join(f"{name} ({_KIND_NAMES[name]})" for name in _KINDS)
        raise MobiusError(
            f"the tokenizer kind '{model}' (tokenizer.ggml.model) is not supported", f"supported: {supported}"
        )
    warnings: list[str] = []
    vocabulary = read_vocabulary(metadata, warnings)
    special = read_special_tokens(metadata, vocabulary, kind.default_ids, warnings)
    vocabulary = replace(vocabulary, types=special.types)
    algorithm = kind.build(metadata, vocabulary, warnings)
    add_bos = bool(metadata.get(KEY + "add_bos_token", algorithm.add_bos))
    add_eos = bool(metadata.get(KEY + "add_eos_token", False))
    bos = _wanted("bos", add_bos, special.bos, warnings)
    eos = _wanted("eos", add_eos, special.eos, warnings)
    added = added_tokens(metadata, vocabulary, warnings)
    return TokenizerFiles(
        tokenizer_json=tokenizer_json(vocabulary, algorithm, added, special.unk, (bos, eos)),
        tokenizer_config={
            "tokenizer_class": algorithm.tokenizer_class,
            **_named_tokens(vocabulary, special),
            "add_bos_token": bos is not None,
            "add_eos_token": eos is not None,
            "clean_up_tokenization_spaces": False,
        },
        chat_template=metadata.get("tokenizer.chat_template"),
        bos_token_id=special.bos,
        eos_token_ids=special.stops,
        pad_token_id=special.pad,
        add_bos=bos is not None,
        warnings=tuple(warnings),
    )


def _wanted(role: str, wanted: bool, token: int | None, warnings: list[str]) -> int | None:
    if wanted and token is None:
        warnings.append(f"{KEY}add_{role}_token is true, but the file names no {role} token: none is added")
    return token if wanted else None


def _named_tokens(vocabulary: Vocabulary, special: SpecialTokens) -> dict[str, str]:
    roles = {"bos": special.bos, "eos": special.eos, "unk": special.unk, "pad": special.pad}
    return {f"{role}_token": vocabulary.tokens[i] for role, i in roles.items() if i is not None}
