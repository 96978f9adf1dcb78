"""The token table of a GGUF file, checked: texts, types, scores; and how tokens name single bytes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repack.errors import InputError, MobiusError

KEY = "tokenizer.ggml."


class TokenType(IntEnum):
    """The values of `tokenizer.ggml.token_type`."""

    UNDEFINED = 0
    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


def _byte_characters() -> list[str]:
    """The character that stands for each byte in tokens: itself where it prints, else one from 256 on."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printing else chr(next(others)) for byte in range(0x100)]


BYTE_CHARACTERS = tuple(_byte_characters())  # byte-level BPE writes all of its tokens with these
BYTE_TOKENS = tuple(f"<0x{byte:02X}>" for byte in range(0x100))  # the others have these for what is no token

# Tokens of these types are found in the text before anything else happens to it.
MATCHED_FIRST = (TokenType.UNKNOWN, TokenType.CONTROL, TokenType.USER_DEFINED)


@dataclass(frozen=True)
class Vocabulary:
    """Tokens by id, with one distinct text each."""

    tokens: list[str]
    ids: dict[str, int]
    types: NDArray[np.int32]

    @property
    def matched_first(self) -> NDArray[np.bool_]:
        """Which tokens are cut out of the text before the algorithm sees it."""
        return np.isin(self.types, MATCHED_FIRST)

    def joined_text(self, selected: NDArray[np.bool_]) -> str:
        """The texts of the selected tokens, one after the other."""
        return "".join(np.array(self.tokens, object)[selected])


def read_vocabulary(metadata: Mapping[str, Any], warnings: list[str]) -> Vocabulary:
    """Read and check the token table."""
    texts = metadata.get(KEY + "tokens")
    if not texts:
        raise MobiusError("the file has no vocabulary (tokenizer.ggml.tokens)")
    tokens = list(texts)
    try:
        "".join(tokens).encode()
    except UnicodeEncodeError:
        raise InputError("tokenizer.ggml.tokens has a text that is not valid UTF-8") from None
    if "" in tokens:
        tokens = [text or f"[EMPTY_{i}]" for i, text in enumerate(tokens)]  # llama.cpp's name for them
    ids = dict(zip(tokens, range(len(tokens)), strict=True))
    if len(ids) != len(tokens):
        warnings.append(_rename_duplicates(tokens, ids))
    types = per_token(metadata, "token_type", len(tokens), np.int32)
    if types is None:
        types = np.full(len(tokens), TokenType.NORMAL, np.int32)
    return Vocabulary(tokens, ids, types)


def per_token(metadata: Mapping[str, Any], key: str, count: int, dtype: type) -> NDArray[Any] | None:
    """An array with one number for each token, or None when the file has none."""
    values = metadata.get(KEY + key)
    if values is None:
        return None
    array: NDArray[Any] = np.array(values, dtype)
    if len(array) < count:
        raise InputError(f"{KEY}{key} has {len(array)} entries for {count} tokens")
    return array[:count]


def warn_of_missing_bytes(vocabulary: Vocabulary, warnings: list[str]) -> None:
    """Announce that some characters cannot be written with byte tokens."""
    missing = [text for text in BYTE_TOKENS if text not in vocabulary.ids]
    if missing:
        warnings.append(f"{len(missing)} of the 256 byte tokens are missing: unknown characters may be lost")


def _rename_duplicates(tokens: list[str], ids: dict[str, int]) -> str:
    """Give all but the last token of each text a name of its own, for JSON keys must be distinct."""
    repeated = [text for text, times in Counter(tokens).items() if times > 1]
    renamed = 0
    for i, text in enumerate(tokens):
        if ids[text] != i:
            tokens[i] = f"[DUPLICATE_{i}]"
            ids[tokens[i]] = i
            renamed += 1
    return (
        f"{renamed} tokens have the same text as a later one, for example {repeated[0]!r}: "
        "the last id is used, the others are never produced from text (llama.cpp refuses such a file)"
    )
