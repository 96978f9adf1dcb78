"""Unigram (`tokenizer.ggml.model` = t5): the pieces with the highest sum of scores."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from converters.tokenizer.algorithm import SPACE, Algorithm, Json, Kind, replace, spaced_text_decoder
from converters.tokenizer.charsmap import charsmap_normalizers
from converters.tokenizer.vocabulary import KEY, TokenType, Vocabulary, per_token
from repack.errors import MobiusError

_PIECES = (TokenType.NORMAL, TokenType.USER_DEFINED, TokenType.UNUSED)


def _build(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    tokens = vocabulary.tokens
    scores = per_token(metadata, "scores", len(tokens), np.float32)
    # As stored: llama.cpp sets up the pieces before it corrects the types of special tokens.
    types = per_token(metadata, "token_type", len(tokens), np.int32)
    types = np.full(len(tokens), TokenType.NORMAL, np.int32) if types is None else types
    normal = types == TokenType.NORMAL
    if scores is None or not np.isfinite(scores).all() or not normal.any():
        raise MobiusError("a Unigram vocabulary needs normal tokens, and a finite score for each token (scores)")
    warnings.append(
        "onnxruntime-genai's Unigram tokenizer merges spaces and takes special tokens in a text for text, "
        "for example 'a  </s>': encode with the tokenizers library"
    )
    usable, names = _usable_pieces(vocabulary, types, scores)
    add_prefix = bool(metadata.get(KEY + "add_space_prefix", False))
    steps = _space_normalizers(add_prefix, bool(metadata.get(KEY + "remove_extra_whitespaces", False)))
    if (charsmap := metadata.get(KEY + "precompiled_charsmap")) is not None:
        steps = charsmap_normalizers(charsmap, warnings) + steps
    return Algorithm(
        tokenizer_class="T5Tokenizer",
        model={"type": "Unigram", "unk_id": None, "byte_fallback": False},
        normalizer={"type": "Sequence", "normalizers": steps},
        pre_tokenizer=None,
        decoder=_decoder(bool((types == TokenType.BYTE).any()), add_prefix),
        scores=usable.tolist(),
        tokens=names,
        unknown="unk_id",
        add_eos=True,
    )


def _usable_pieces(
    vocabulary: Vocabulary, types: NDArray[np.int32], scores: NDArray[np.float32]
) -> tuple[NDArray[np.float64], list[str]]:
    """Scores and names that make `tokenizers` use the pieces that llama.cpp uses.

    An unknown character costs 10 more than the lowest score: of the normal tokens in llama.cpp, of all tokens in
    `tokenizers`. So no score may be lower than theirs; tokens that have one are fillers, which are never used, or
    are no pieces at all. A space in the name keeps them out, for no text has one here.
    """
    lowest = float(scores[types == TokenType.NORMAL].min())
    piece = np.isin(types, _PIECES)
    usable = scores.astype(np.float64)
    usable[types == TokenType.USER_DEFINED] = 0.0
    hidden = (~piece | (usable < lowest)) & ~vocabulary.matched_first
    usable[~piece | (usable < lowest)] = lowest
    names = list(vocabulary.tokens)
    for i in np.flatnonzero(hidden).tolist():
        if f" {names[i]}" not in vocabulary.ids:
            names[i] = f" {names[i]}"
    return usable, names


def _decoder(bytes_too: bool, strip: bool) -> Json:
    decoder = spaced_text_decoder(bytes_too=bytes_too, strip=strip)
    if bytes_too:  # byte tokens, which no text has, get their names back
        decoder["decoders"].insert(0, replace(r"\A (?=<0x[0-9A-Fa-f]{2}>\z)", "", regex=True))
    return decoder


def _space_normalizers(add_prefix: bool, merge: bool) -> list[Json]:
    if merge:  # then one begins each word, also the first, whatever is said about a prefix
        return [
            replace(r"\A +| +\z", "", regex=True),
            replace(" +", SPACE, regex=True),
            {"type": "Prepend", "prepend": SPACE},
        ]
    spaces = replace(" ", SPACE)
    if not add_prefix:
        return [spaces]
    # A text of nothing but spaces gets no further one.
    return [{"type": "Prepend", "prepend": " "}, replace(r"\A (?= *\z)", "", regex=True), spaces]


UNIGRAM = Kind("Unigram", {"eos": 1, "unknown": 2, "padding": 0}, _build, needs_unknown=True)
