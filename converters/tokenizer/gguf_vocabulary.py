"""A tokenizer.json as the vocabulary of a GGUF file: byte-level BPE whose way to cut text llama.cpp has a name for."""

import json
from collections.abc import Mapping
from typing import Any

from converters.tokenizer.export import NO_TOKENIZER, TokenizerFiles
from converters.tokenizer.pretokenizers import PRE_TOKENIZERS, PreTokenizer
from converters.tokenizer.trial_texts import TEXTS
from converters.tokenizer.vocabulary import BYTE_CHARACTERS, KEY, TokenType

_NFC = {"type": "NFC"}


class _NotToldError(Exception):
    """Why the tokenizer has no place in a GGUF file."""


def tokenizer_metadata(tokens: TokenizerFiles, rows: int) -> tuple[dict[str, Any], list[str]]:
    """The keys of a vocabulary with as many tokens as the embedding has `rows`, and warnings.

    Where it cannot be told, the keys say that there is none, and a warning why.
    """
    try:
        if tokens.tokenizer_json is None:
            raise _NotToldError("the checkpoint has none")
        content = json.loads(tokens.tokenizer_json)
        warnings: list[str] = []
        found = {KEY + "model": "gpt2", KEY + "pre": _pre_tokenizer(content, warnings), **_vocabulary(content, rows)}
    except _NotToldError as reason:
        return {KEY + "model": NO_TOKENIZER[1]}, [
            f"the file gets no tokenizer ({reason}): llama-server is of no use with it, programs that take ids are"
        ]
    roles = {"bos": tokens.bos_token_id, "padding": tokens.pad_token_id}
    roles["eos"] = tokens.eos_token_ids[0] if tokens.eos_token_ids else None
    found |= {f"{KEY}{role}_token_id": number for role, number in roles.items() if number is not None}
    found[KEY + "add_bos_token"] = tokens.add_bos
    if tokens.chat_template is not None:
        found["tokenizer.chat_template"] = tokens.chat_template
    return found, warnings


def stand_in_vocabulary(rows: int) -> dict[str, Any]:
    """Keys of a vocabulary for programs that need one to start and are then given ids: bytes, and tokens of no text."""
    texts = [*BYTE_CHARACTERS, *(f"[PAD{i}]" for i in range(len(BYTE_CHARACTERS), rows))][:rows]
    types = [int(TokenType.NORMAL if i < len(BYTE_CHARACTERS) else TokenType.UNUSED) for i in range(rows)]
    return {KEY + "model": "gpt2", KEY + "pre": "gpt-2", KEY + "tokens": texts, KEY + "token_type": types,
            KEY + "merges": [" ".join(BYTE_CHARACTERS[:2])]}  # fmt: skip


def _vocabulary(content: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Tokens, their types, and merges."""
    model = content["model"]
    texts, types = [f"[PAD{i}]" for i in range(rows)], [int(TokenType.UNUSED)] * rows
    added = [(one["content"], one["id"], one.get("special", False)) for one in content.get("added_tokens") or ()]
    if max([*model["vocab"].values(), *(number for _, number, _ in added)]) >= rows:
        raise _NotToldError("it has more tokens than the embedding has rows")
    for text, number in model["vocab"].items():
        texts[number], types[number] = text, int(TokenType.NORMAL)
    for text, number, special in added:
        texts[number], types[number] = text, int(TokenType.CONTROL if special else TokenType.USER_DEFINED)
    merges = [one if isinstance(one, str) else " ".join(one) for one in model["merges"]]
    if not merges:
        raise _NotToldError("it has no merges, without which llama.cpp loads none")
    return {KEY + "tokens": texts, KEY + "token_type": types, KEY + "merges": merges}


def _pre_tokenizer(content: Mapping[str, Any], warnings: list[str]) -> str:
    """llama.cpp's name of the one that cuts all trial texts as the checkpoint's does."""
    from tokenizers import Tokenizer

    model, normalizer = content["model"], content.get("normalizer")
    if model.get("type") != "BPE" or model.get("byte_fallback") or "ByteLevel" not in json.dumps(content["decoder"]):
        raise _NotToldError("it is no byte-level BPE")
    if normalizer == _NFC:
        warnings.append("llama.cpp does not compose characters (NFC), as the checkpoint's tokenizer does")
    elif normalizer is not None:
        raise _NotToldError("it normalizes texts")
    ours = Tokenizer.from_str(json.dumps(content)).pre_tokenizer
    if ours is None:
        raise _NotToldError("it does not cut texts")
    cut = [ours.pre_tokenize_str(text) for text in TEXTS]
    for entry in PRE_TOKENIZERS:
        if entry.whole_words == bool(model.get("ignore_merges")) and _cuts(entry) == cut:
            return entry.names[0]
    raise _NotToldError("it cuts texts as nothing in llama.cpp does")


def _cuts(entry: PreTokenizer) -> list[Any]:
    from tokenizers import Regex, pre_tokenizers

    splits = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in entry.patterns]
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    whole = pre_tokenizers.Sequence([*splits, level])
    return [whole.pre_tokenize_str(text) for text in TEXTS]
