"""Byte-pair encoding: the model of tokenizer.json, the merges that a file lists, and what merges make of a text."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from converters.tokenizer.algorithm import Json
from converters.tokenizer.vocabulary import KEY
from repack.errors import MobiusError


def bpe_model(**options: Any) -> Json:
    """The options of a BPE model, those given and the defaults."""
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        **options,
    }


def read_merges(metadata: Mapping[str, Any], ids: Mapping[str, int], warnings: list[str]) -> dict[tuple[int, int], int]:
    """Ids of the two tokens of each merge, in order, and its rank; a warning counts those that name no tokens."""
    lines = metadata.get(KEY + "merges")
    if lines is None:
        raise MobiusError("the file has a BPE vocabulary but no merges (tokenizer.ggml.merges)")
    merges: dict[tuple[int, int], int] = {}
    unusable = 0
    for line in lines:
        left, _, right = line.partition(" ")
        a, b = ids.get(left), ids.get(right)
        # llama.cpp never merges a part with a space in it, and `tokenizers` does not load such a line.
        if a is not None and b is not None and left + right in ids and " " not in right:
            merges.setdefault((a, b), len(merges))  # of equal merges the first counts
        else:
            unusable += 1
    if unusable:
        warnings.append(f"{unusable} merges name tokens that are not in the vocabulary: left out")
    return merges


class Bpe:
    """The encoding on characters, step by step, to find texts that other tokenizers merge otherwise; slow."""

    def __init__(self, ids: Mapping[str, int], ranks: Mapping[tuple[int, int], int]) -> None:
        """`ids` of the tokens by text; `ranks` of the pairs of ids to merge, the lowest first."""
        self._ids, self._ranks = ids, ranks

    def tokens(self, text: str, at_once: bool = False) -> list[str]:
        """The best pair is merged first, the leftmost on ties; all its places `at_once` if asked."""
        symbols, ranks = list(text), self._ranks
        while usable := [(ranks[pair], i) for i, pair in enumerate(self._pairs(symbols)) if pair in ranks]:
            first = min(usable)[1]
            symbols = list(_merged(symbols, first, len(symbols) if at_once else 1))
        return symbols

    def _pairs(self, symbols: Iterable[str]) -> Iterator[tuple[int, int]]:
        return pairwise(self._ids.get(symbol, -1) for symbol in symbols)


def _merged(symbols: list[str], first: int, times: int) -> Iterator[str]:
    """The symbols with the pair at `first` merged, there and where it comes again, so many times."""
    pair, i = symbols[first : first + 2], 0
    while i < len(symbols):
        merge = times > 0 and i >= first and symbols[i : i + 2] == pair
        yield "".join(pair) if merge else symbols[i]
        i, times = i + 1 + merge, times - merge
