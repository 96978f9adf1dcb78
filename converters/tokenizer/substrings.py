"""Which tokens are the concatenation of two others: all of them at once, by a hash of every substring."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]
_HashArray = NDArray[np.uint64]

# A polynomial hash modulo 2**64 of mixed code points: the hash of a concatenation is
# hash(left) + hash(right) * BASE**len(left), so both parts of every split of every token
# follow from one running sum.
_BASE = 0x9E3779B97F4A7C15
_TABLE_BITS = 22


class TokenIndex:
    """Finds tokens by the hash of their text; only those in `members` can be found."""

    def __init__(self, tokens: Sequence[str], members: NDArray[np.bool_]) -> None:
        self.lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
        self._ends = np.cumsum(self.lengths)
        self._members = np.flatnonzero(members)
        longest = int(self.lengths.max(initial=1))
        self._powers = _powers(_BASE, longest + 1)
        self._sums = self._running_sums(tokens)
        self._hashes = self._sums[self._ends] - self._sums[self._ends - self.lengths]

        slots = _slot(self._hashes[self._members])
        self._table = np.full(1 << _TABLE_BITS, -1, np.int32)
        self._table[slots] = self._members
        displaced = self._members[self._table[slots] != self._members]
        order = np.argsort(self._hashes[displaced])
        self._displaced = displaced[order]
        self._displaced_hashes = self._hashes[self._displaced]

    def _running_sums(self, tokens: Sequence[str]) -> _HashArray:
        codes = np.frombuffer("".join(tokens).encode("utf-32-le"), np.uint32).astype(np.uint64)
        codes *= np.uint64(0xBF58476D1CE4E5B9)
        codes ^= codes >> np.uint64(31)
        codes *= np.uint64(0x94D049BB133111EB)
        codes ^= codes >> np.uint64(29)
        place = np.arange(len(codes)) - np.repeat(self._ends - self.lengths, self.lengths)
        codes *= self._powers[place]
        return np.concatenate([np.zeros(1, np.uint64), np.cumsum(codes)])

    def _find(self, hashes: _HashArray) -> IntArray:
        """Ids of the tokens with these hashes, -1 where there is none."""
        ids = self._table[_slot(hashes)].astype(np.int64)
        occupied = ids >= 0
        missed = np.flatnonzero(occupied & (self._hashes[ids] != hashes))
        ids[missed] = -1
        if len(self._displaced):
            at = np.searchsorted(self._displaced_hashes, hashes[missed])
            at[at == len(self._displaced)] = 0
            found = self._displaced_hashes[at] == hashes[missed]
            ids[missed[found]] = self._displaced[at[found]]
        return ids

    def concatenation(self, left: IntArray, right: IntArray) -> IntArray:
        """Ids of the tokens whose text is that of `left` followed by that of `right`, else -1."""
        return self._find(self._hashes[left] + self._hashes[right] * self._powers[self.lengths[left]])

    def splits(self) -> tuple[IntArray, IntArray, IntArray]:
        """Every (token, left, right) of members with token = left + right, ordered by token."""
        inner = self.lengths[self._members] - 1
        token = np.repeat(self._members, inner)
        cut = np.arange(len(token)) - np.repeat(np.cumsum(inner) - inner, inner) + 1
        start = self._ends[token] - self.lengths[token]
        prefix = self._sums[start + cut] - self._sums[start]
        left = self._find(prefix)
        kept = left >= 0
        token, left, cut, prefix = token[kept], left[kept], cut[kept], prefix[kept]
        inverses = _powers(pow(_BASE, -1, 1 << 64), len(self._powers))
        right = self._find((self._hashes[token] - prefix) * inverses[cut])
        kept = right >= 0
        return token[kept], left[kept], right[kept]


def _slot(hashes: _HashArray) -> IntArray:
    return (hashes >> np.uint64(64 - _TABLE_BITS)).astype(np.int64)


def _powers(base: int, count: int) -> _HashArray:
    powers = np.full(count, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers, dtype=np.uint64)
