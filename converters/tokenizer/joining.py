"""What a list of merges makes of a text, step by step: to find texts that other tokenizers join otherwise."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise


class Joining:
    """A byte-pair encoding on characters; slow, for single texts."""

    def __init__(self, ids: Mapping[str, int], ranks: Mapping[tuple[int, int], int]) -> None:
        """`ids` of the tokens by text; `ranks` of the pairs of ids to join, the lowest first."""
        self._ids, self._ranks = ids, ranks

    def tokens(self, text: str, at_once: bool = False) -> list[str]:
        """The best pair is joined first, the leftmost on ties; all its places `at_once` if asked."""
        symbols, ranks = list(text), self._ranks
        while usable := [(ranks[pair], i) for i, pair in enumerate(self._pairs(symbols)) if pair in ranks]:
            first = min(usable)[1]
            symbols = list(_joined(symbols, first, len(symbols) if at_once else 1))
        return symbols

    def _pairs(self, symbols: Iterable[str]) -> Iterator[tuple[int, int]]:
        return pairwise(self._ids.get(symbol, -1) for symbol in symbols)


def _joined(symbols: list[str], first: int, times: int) -> Iterator[str]:
    """The symbols with the pair at `first` joined, there and where it comes again, so many times."""
    pair, i = symbols[first : first + 2], 0
    while i < len(symbols):
        join = times > 0 and i >= first and symbols[i : i + 2] == pair
        yield "".join(pair) if join else symbols[i]
        i, times = i + 1 + join, times - join
