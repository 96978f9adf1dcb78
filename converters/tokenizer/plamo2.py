"""PLaMo-2 (`tokenizer.ggml.model` = plamo2): the pieces with the highest sum of scores, spaces as they are.

Where two sums are equal the ids differ: llama.cpp takes the longest piece first, `tokenizers` last, and nothing in
tokenizer.json can turn that round. Scores seldom add up to the same sum by chance, but a run of one character is cut
into the same pieces in any order: deep indents and long rules, about one line of Python code in forty.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.tokenizer.algorithm import BYTE_TOKEN_DECODER, Algorithm, Kind, replace
from converters.tokenizer.ties import is_run
from converters.tokenizer.vocabulary import BYTE_TOKENS, TokenType, Vocabulary, per_token
from repack.errors import MobiusError

# llama.cpp rounds scores to this part of one, and an unknown character costs so many of them.
_PARTS, _UNKNOWN = 1e4, 10_000_000
# In `tokenizers` it costs 10 more than the lowest score, which tokens get that are no pieces: nor are they found in a
# text then, for the characters of their names cost less.
_LOWEST = 10.0 - _UNKNOWN
_LONGEST_RUN = 1000  # in the search for an example: it takes time that grows with the square of the length


def _build(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    tokens = vocabulary.tokens
    scores = per_token(metadata, "scores", len(tokens), np.float32)
    # As stored: llama.cpp sets up the pieces before it corrects the types of special tokens.
    types = per_token(metadata, "token_type", len(tokens), np.int32)
    byte_ids = [vocabulary.ids.get(text, 0) for text in BYTE_TOKENS]  # 0 is none to llama.cpp, too
    if scores is None or types is None or 0 in byte_ids or (types[byte_ids] != TokenType.BYTE).any():
        raise MobiusError("a PLaMo-2 vocabulary needs all of the 256 byte tokens, and a score for each token (scores)")
    steps = _steps(scores)
    usable = np.isfinite(steps) & (steps > _LOWEST) & (types != TokenType.BYTE)
    steps[~usable] = _LOWEST
    pieces = usable & ~vocabulary.matched_first
    _warn(vocabulary, pieces, types, warnings)
    _warn_of_runs({tokens[i]: -steps[i] for i in np.flatnonzero(pieces).tolist() if is_run([tokens[i]])}, warnings)
    return Algorithm(
        tokenizer_class="PreTrainedTokenizerFast",
        # Unknown characters become byte tokens, whatever this token is; but it must not be a piece.
        model={"type": "Unigram", "unk_id": byte_ids[0], "byte_fallback": True},
        normalizer=replace(r"\A\x{FEFF}", "", regex=True),
        pre_tokenizer=None,
        decoder=BYTE_TOKEN_DECODER,
        scores=steps.tolist(),
        shows_unused=True,
    )


def _steps(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Whole numbers, whose sums are exact; halves are rounded away from zero."""
    steps = scores.astype(np.float64) * _PARTS
    return np.trunc(steps + np.copysign(0.5, steps))


def _warn(vocabulary: Vocabulary, pieces: NDArray[np.bool_], types: NDArray[np.int32], warnings: list[str]) -> None:
    warnings.append(
        "onnxruntime-genai does not load a PLaMo-2 tokenizer, for its own Unigram puts ▁ before each text and for "
        "spaces: encode with the tokenizers library"
    )
    unused = np.flatnonzero(~pieces & ~vocabulary.matched_first & (types != TokenType.BYTE)).tolist()
    if unused:
        warnings.append(
            f"{len(unused)} tokens with a score of -1000 or less, for example {vocabulary.tokens[unused[0]]!r}: "
            "a text with such a name can get other ids than in llama.cpp"
        )
    known = {vocabulary.tokens[i] for i in np.flatnonzero(pieces).tolist()}
    if not known.issuperset("".join(BYTE_TOKENS)):
        warnings.append(
            "some characters of the names of byte tokens are no tokens: such a name in a text, for example '<0x41>', "
            "is taken for the byte, unlike in llama.cpp"
        )


def _warn_of_runs(costs: Mapping[str, float], warnings: list[str]) -> None:
    """`costs` has the runs of one character that are pieces."""
    for character in sorted({text[0] for text in costs}, key=lambda c: (c != " ", c)):
        by_length = {len(text): cost for text, cost in costs.items() if text[0] == character}
        if length := _uneven_run({1: _UNKNOWN, **by_length}):
            warnings.append(
                "of several ways to cut a text that have equal scores, llama.cpp takes the one with the longest token "
                f"first, tokenizer.json the one with the longest last, for example in {length} times {character!r}"
            )
            return


def _uneven_run(costs: Mapping[int, float]) -> int | None:
    """The length of a run that falls into pieces of several lengths, from the costs of these."""
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for length in range(1, min(2 * max(costs), _LONGEST_RUN) + 1):
        ways = [(cost + best[length - first][0], -first) for first, cost in costs.items() if first <= length]
        cost, first = min(ways)
        best.append((cost, [-first, *best[length + first][1]]))
        if best[-1][1] != best[-1][1][::-1]:
            return length
    return None


PLAMO2 = Kind("PLaMo-2's Unigram", {"bos": 1, "eos": 2, "unknown": 0, "padding": 3}, _build)
