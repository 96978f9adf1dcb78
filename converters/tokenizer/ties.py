"""Tokens that share a score: llama.cpp joins the leftmost of them first, which a list of merges cannot say.

For the runs of spaces of Llama's vocabulary, which all have one score, there is a list that comes to
the same ids all the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from converters.tokenizer.substrings import FloatArray, IntArray


@dataclass(frozen=True)
class Merges:
    """Ids of the two parts and of the result of each merge, the first to apply first."""

    left: IntArray
    right: IntArray
    result: IntArray


def tied_results(merges: Merges, scores: FloatArray) -> IntArray:
    """Results of merges that share their score with another."""
    reached = np.flatnonzero(np.bincount(merges.result))
    _, which, counts = np.unique(scores[reached], return_inverse=True, return_counts=True)
    return reached[counts[which] > 1]


def is_run(texts: Sequence[str]) -> bool:
    """Whether these texts repeat one and the same character."""
    return len(set("".join(texts))) == 1


def double_runs(merges: Merges, tokens: Sequence[str], tied: IntArray) -> Merges:
    """Replace the merges of tied runs by doublings, where that gives the same ids.

    llama.cpp lets the leftmost run grow one by one to the longest, M, and then begins the next:
    a run of n becomes n // M times M, and the rest. When M is a power of two, joining equal halves
    and then the parts of the rest does the same; and it does so in any order of the places, so that
    tokenizers that apply one merge everywhere at once agree.
    """
    texts = [tokens[i] for i in tied]
    if not texts or not is_run(texts):
        return merges
    longest = len(texts) + 1
    of_length = {len(text): int(i) for text, i in zip(texts, tied, strict=True)}
    inside = np.isin(merges.result, tied)
    used_outside = (np.isin(merges.left, tied) | np.isin(merges.right, tied)) & ~inside
    if longest & (longest - 1) or max(of_length) != longest or used_outside.any():
        return merges
    of_length[1] = int(merges.left[merges.result == of_length[2]][0])
    steps = np.array(_doublings(of_length, longest), np.int64).T
    start = int(np.argmax(inside))
    parts = zip((merges.left, merges.right, merges.result), steps, strict=True)
    return Merges(*(np.concatenate([old[:start], new, old[start:][~inside[start:]]]) for old, new in parts))


def _doublings(of_length: Mapping[int, int], longest: int) -> list[tuple[int, int, int]]:
    """(left, right, result) of the merges, from the ids of the runs by length."""
    halves = [1 << bit for bit in range(longest.bit_length() - 1)]
    pairs = [(half, half) for half in halves]
    # The rest is left as powers of two, the largest first: join them from the left.
    pairs += [(n - (n & -n), n & -n) for n in range(longest - 1, 2, -1) if n & (n - 1)]
    return [(of_length[left], of_length[right], of_length[left + right]) for left, right in pairs]
