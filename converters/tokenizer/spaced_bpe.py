"""BPE on characters with `▁` for spaces (`tokenizer.ggml.model` = gemma4): lines, merges from the file, byte tokens."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from converters.tokenizer.algorithm import SPACE, Algorithm, Kind, bpe, replace, spaced_text_decoder
from converters.tokenizer.byte_tokens import warn_of_missing_bytes
from converters.tokenizer.merge_lines import read_merges
from converters.tokenizer.vocabulary import Vocabulary


def _build(metadata: Mapping[str, Any], vocabulary: Vocabulary, warnings: list[str]) -> Algorithm:
    merges = read_merges(metadata, vocabulary.ids, warnings)
    warn_of_missing_bytes(vocabulary, warnings)
    _warn_of_line_feeds(vocabulary, merges, warnings)
    return Algorithm(
        tokenizer_class="GemmaTokenizer",
        model=bpe(byte_fallback=True),
        normalizer=replace(" ", SPACE),
        # No token spans the end of a line.
        pre_tokenizer={"type": "Split", "pattern": {"Regex": r"\n+"}, "behavior": "Isolated", "invert": False},
        decoder=spaced_text_decoder(bytes_too=True, strip=False),
        merges=merges,
        always_bos=True,
    )


def _warn_of_line_feeds(vocabulary: Vocabulary, merges: list[tuple[int, int]], warnings: list[str]) -> None:
    """A run of line feeds that is a token is that token in llama.cpp, whatever the merges would make of it."""
    tokens = vocabulary.tokens
    runs = [i for i, text in enumerate(tokens) if not text.strip("\n") and not vocabulary.matched_first[i]]
    lengths = {i: len(tokens[i]) for i in runs}
    ranks = {(lengths[a], lengths[b]): rank for rank, (a, b) in enumerate(merges) if a in lengths and b in lengths}
    missed = [i for i in runs if _join([1] * lengths[i], ranks) != [lengths[i]]]
    if missed:
        warnings.append(
            f"the merges do not make {len(missed)} tokens of line feeds, for example {tokens[missed[0]]!r}: "
            "llama.cpp takes such a token for as many line feeds between other characters, tokenizer.json does not"
        )


def _join(lengths: list[int], ranks: Mapping[tuple[int, int], int]) -> list[int]:
    """The lengths of runs after all merges, the best first and the leftmost on ties."""
    while usable := [(ranks[pair], i) for i, pair in enumerate(pairwise(lengths)) if pair in ranks]:
        i = min(usable)[1]
        lengths[i : i + 2] = [sum(lengths[i : i + 2])]
    return lengths


SPACED_BPE = Kind("BPE with ▁ for spaces", {}, _build)
