"""The `decoder` of tokenizer.json: that of the algorithm, after steps for the tokens that llama.cpp shows otherwise."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from converters.tokenizer.algorithm import SPACE, Algorithm, Json, replace
from converters.tokenizer.vocabulary import BYTE_CHARACTERS, MATCHED_FIRST, TokenType, Vocabulary

# Tokens of all other types have no text in llama.cpp, also when a model writes them.
_SHOWN = (*MATCHED_FIRST, TokenType.NORMAL, TokenType.BYTE)


def token_decoder(vocabulary: Vocabulary, algorithm: Algorithm) -> Json:
    """Each added step is for some tokens, by their whole text; names are distinct, so no other token is meant."""
    names = algorithm.tokens or vocabulary.tokens
    steps: list[Json] = algorithm.decoder.get("decoders", [algorithm.decoder])
    if not (vocabulary.types == TokenType.BYTE).any():  # then `<0x41>` is a text like any other
        steps = [step for step in steps if step["type"] != "ByteFallback"]
    matched_first = [names[i] for i in np.flatnonzero(vocabulary.matched_first).tolist()]
    if steps[0]["type"] == "ByteLevel":
        steps = [*_texts_like_bytes(matched_first), *steps]
    elif (spaces := replace(SPACE, " ")) in steps:
        after = steps.index(spaces) + 1
        steps = [*steps[:after], *_texts_with_a_mark(matched_first), *steps[after:]]
    silent = [names[i] for i in np.flatnonzero(~np.isin(vocabulary.types, _SHOWN)).tolist()]
    if silent and not algorithm.shows_unused:
        steps = [_whole(silent, ""), *steps]
    return steps[0] if len(steps) == 1 else {"type": "Sequence", "decoders": steps}


def _texts_like_bytes(texts: Iterable[str]) -> list[Json]:
    """Special tokens are written as they are: where their characters can mean bytes, they become those of the text."""
    known = set(BYTE_CHARACTERS)
    return [
        _whole([text], "".join(BYTE_CHARACTERS[byte] for byte in text.encode()))
        for text in texts
        if not text.isascii() and known.issuperset(text)
    ]


def _texts_with_a_mark(texts: Iterable[str]) -> list[Json]:
    """A `▁` in a special token is no space: it comes back."""
    return [_whole([text.replace(SPACE, " ")], text) for text in texts if SPACE in text]


def _whole(texts: Sequence[str], content: str) -> Json:
    return replace(rf"\A(?:{'|'.join(map(re.escape, texts))})\z", content, regex=True)
