"""The merges of a SentencePiece-style vocabulary: one pair of tokens for each token that can be reached.

llama.cpp joins, again and again, the two neighbours whose joined text has the highest score (the
leftmost on ties). `tokenizers` joins the pair that comes first in a list of merges. A list with every
(left, right) whose joined text is a token, ordered by the score of that token, gives the same result.

The list can be shorter. Whenever a token is formed, the symbols inside its span were joined as if the
span stood alone, so for each token only one pair is ever the last step: the one that joining its own
characters ends with. Pairs that never occur are left out; a pair that cannot be decided stays, which
is harmless, for a pair that never occurs changes nothing.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from converters.tokenizer.substrings import FloatArray, IntArray, TokenIndex
from converters.tokenizer.ties import Merges, double_runs, tied_results

_CHARACTER, _REACHED, _UNDECIDED, _UNREACHABLE = range(4)


def merges_by_score(tokens: Sequence[str], scores: FloatArray, mergeable: NDArray[np.bool_]) -> tuple[Merges, IntArray]:
    """The merges among the `mergeable` tokens that give what llama.cpp's joining by score gives.

    The second result has the tokens among them that share their score with another.
    """
    index = TokenIndex(tokens, mergeable)
    token, left, right = index.splits()
    history = _History(index, scores)
    lengths = index.lengths[token]
    kept = []
    # Shortest first: whether a pair can occur depends on how its parts, which are shorter, came about.
    by_length = np.argsort(lengths, kind="stable")
    for rows in np.split(by_length, np.flatnonzero(np.diff(lengths[by_length])) + 1):
        possible = rows[history.can_meet(left[rows], right[rows])]
        history.record(token[rows], token[possible], left[possible], right[possible])
        kept.append(possible)
    rows = np.concatenate(kept)
    # Of equal scores the longest first: llama.cpp goes on at the leftmost place, so a run of one
    # character grows there to its full length before the next one begins.
    rows = rows[np.lexsort((-lengths[rows], -scores[token[rows]]))]
    merges = Merges(left[rows], right[rows], token[rows])
    tied = tied_results(merges, scores)
    return double_runs(merges, tokens, tied), tied


class _History:
    """How each token comes about when its own characters are joined, filled in shortest first."""

    def __init__(self, index: TokenIndex, scores: FloatArray) -> None:
        self._index = index
        self._scores = scores
        count = len(scores)
        self._state = np.where(index.lengths == 1, _CHARACTER, _UNREACHABLE).astype(np.int8)
        self._left = np.full(count, -1, np.int64)
        self._right = np.full(count, -1, np.int64)
        # Score of the step that made the token; characters were there before every step.
        self._made = np.full(count, np.inf, np.float32)

    def can_meet(self, left: IntArray, right: IntArray) -> NDArray[np.bool_]:
        """Whether joining the characters of left + right can come to exactly these two symbols."""
        states = np.maximum(self._state[left], self._state[right])
        possible: NDArray[np.bool_] = states != _UNREACHABLE
        rows = np.flatnonzero(possible & (states != _UNDECIDED))
        a, b = left[rows], right[rows]
        # Walk back in time along the boundary. The step undone is the later of the two: that with the
        # lower score and, on ties, the right one. Had the two symbols that then stood at the boundary
        # made a better step (or an equal one further left), they would have been joined instead.
        while len(rows):
            made_a, made_b = self._made[a], self._made[b]
            undo_right = made_b <= made_a
            step = np.where(undo_right, made_b, made_a)
            earlier = np.flatnonzero(step < np.inf)
            rows, a, b, step = rows[earlier], a[earlier], b[earlier], step[earlier]
            undo_right = undo_right[earlier]
            a, b = np.where(undo_right, a, self._right[a]), np.where(undo_right, self._left[b], b)
            across = self._index.concatenation(a, b)
            score = np.where(across >= 0, self._scores[across], -np.inf)
            fails = (score > step) | ((score == step) & undo_right)
            possible[rows[fails]] = False
            rows, a, b = rows[~fails], a[~fails], b[~fails]
        return possible

    def record(self, tried: IntArray, token: IntArray, left: IntArray, right: IntArray) -> None:
        """Note the pairs that can be the last step of each token."""
        counts = np.bincount(token, minlength=len(self._state))[tried]
        self._state[tried] = np.where(counts == 0, _UNREACHABLE, _UNDECIDED)
        self._left[token], self._right[token] = left, right
        self._made[token] = self._scores[token]
        # The walk back in time holds only where no token outranks the parts that it is made of.
        ordered = np.minimum(self._made[left], self._made[right]) >= self._scores[token]
        known = (self._state[left] <= _REACHED) & (self._state[right] <= _REACHED)
        single = np.bincount(token, minlength=len(self._state))[token] == 1
        self._state[token[ordered & known & single]] = _REACHED
