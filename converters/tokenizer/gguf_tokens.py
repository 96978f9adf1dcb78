"""The tokens of a tokenizer.json as a GGUF file lists them, whatever makes texts to tokens."""

from collections.abc import Mapping
from typing import Any

from converters.tokenizer.vocabulary import BYTE_CHARACTERS, BYTE_TOKENS, KEY, TokenType


class NotToldError(Exception):
    """Why a tokenizer has no place in a GGUF file."""


def listed_tokens(content: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """As many tokens as the embedding has rows, and their types.

    Raises:
        NotToldError: there are more than rows.
    """
    vocab = content["model"]["vocab"]
    texts, types = [f"[PAD{i}]" for i in range(rows)], [int(TokenType.UNUSED)] * rows
    added = [(one["content"], one["id"], one.get("special", False)) for one in content.get("added_tokens") or ()]
    if max([*vocab.values(), *(number for _, number, _ in added)], default=0) >= rows:
        raise NotToldError("it has more tokens than the embedding has rows")
    for text, number in vocab.items():
        texts[number], types[number] = text, int(TokenType.NORMAL)
    for text, number, special in added:
        texts[number], types[number] = text, int(TokenType.CONTROL if special else TokenType.USER_DEFINED)
    if content["model"].get("byte_fallback"):
        for text in BYTE_TOKENS:
            if text in vocab:
                types[vocab[text]] = int(TokenType.BYTE)
    return {KEY + "tokens": texts, KEY + "token_type": types}


def merge_pairs(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The two tokens of each merge; files have them as a list or with a space between.

    Raises:
        NotToldError: there are none.
    """
    found = content["model"].get("merges")
    if not found:
        raise NotToldError("it has no merges, without which llama.cpp loads none")
    pairs = (one.split(" ", 1) if isinstance(one, str) else one for one in found)
    return [(left, right) for left, right in pairs]


def stand_in_vocabulary(rows: int) -> dict[str, Any]:
    """Keys of a vocabulary for programs that need one to start and are then given ids: bytes, and tokens of no text."""
    texts = [*BYTE_CHARACTERS, *(f"[PAD{i}]" for i in range(len(BYTE_CHARACTERS), rows))][:rows]
    types = [int(TokenType.NORMAL if i < len(BYTE_CHARACTERS) else TokenType.UNUSED) for i in range(rows)]
    return {KEY + "model": "gpt2", KEY + "pre": "gpt-2", KEY + "tokens": texts, KEY + "token_type": types,
            KEY + "merges": [" ".join(BYTE_CHARACTERS[:2])]}  # fmt: skip
