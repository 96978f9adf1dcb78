"""The merges of SentencePiece-style vocabularies against joining by score done by the book."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import BPE

from converters.tokenizer.merges import merges_by_score


def _join_by_score(text: str, scores: dict[str, float]) -> list[str]:
    """Join the neighbours with the highest score, the leftmost on ties, until nothing can be joined."""
    symbols = list(text)
    while True:
        found = [(scores.get(a + b), -i) for i, (a, b) in enumerate(itertools.pairwise(symbols))]
        joinable = [(score, place) for score, place in found if score is not None]
        if not joinable:
            return symbols
        i = -max(joinable)[1]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def _tokenize(text: str, tokens: list[str], scores: list[float]) -> list[str]:
    merges, _ = merges_by_score(tokens, np.array(scores, np.float32), np.ones(len(tokens), np.bool_))
    pairs = [(tokens[left], tokens[right]) for left, right in zip(merges.left, merges.right, strict=True)]
    found: list[str] = Tokenizer(BPE({t: i for i, t in enumerate(tokens)}, pairs)).encode(text).tokens
    return found


@st.composite
def _vocabularies(draw: st.DrawFn) -> list[str]:
    """Tokens in random order of score: also ones that cannot be reached, or that outrank their parts."""
    letters = draw(st.sampled_from(["a", "ab", "abc"]))
    tokens = list(letters)
    for kind in draw(st.lists(st.sampled_from(["join", "join", "new"]), max_size=25)):
        part = st.sampled_from(tokens)
        token = draw(part) + draw(part) if kind == "join" else draw(st.text(letters, min_size=2, max_size=6))
        if len(token) < 10 and token not in tokens:
            tokens.append(token)
    return draw(st.permutations(tokens)) if draw(st.booleans()) else tokens


@settings(max_examples=400, deadline=None)
@given(_vocabularies(), st.text("abc", max_size=30))
def test_distinct_scores(tokens: list[str], text: str) -> None:
    text = "".join(c for c in text if c in tokens)
    scores = [-float(i) for i in range(len(tokens))]
    expected = _join_by_score(text, dict(zip(tokens, scores, strict=True)))
    assert _tokenize(text, tokens, scores) == expected


@settings(max_examples=400, deadline=None)
@given(_vocabularies(), st.sampled_from([2, 3, 4, 7, 8]), st.sampled_from([-1e9, -3.5, 10.0]), st.data())
def test_runs_of_one_score(tokens: list[str], longest: int, score: float, data: st.DataObject) -> None:
    tokens = list(dict.fromkeys(tokens + ["a" * n for n in range(2, longest + 1)]))
    scores = [score if set(token) == {"a"} else -float(i) for i, token in enumerate(tokens)]
    letters = "".join(token for token in tokens if len(token) == 1)
    text = data.draw(st.text(letters, max_size=20) | st.integers(0, 30).map("a".__mul__))
    expected = _join_by_score(text, dict(zip(tokens, scores, strict=True)))
    assert _tokenize(text, tokens, scores) == expected


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["a", "aaaaaaa", "aaaaa", "aa", "aaa"], "aaaaaaa"),
        (["abba", "bbab", "baa", "a", "baabba", "bba", "ba", "baabbab", "b"], "baabbab"),
    ],
)
def test_tokens_that_outrank_their_parts(tokens: list[str], text: str) -> None:
    scores = [-float(i) for i in range(len(tokens))]
    assert _tokenize(text, tokens, scores) == [text]
    assert _join_by_score(text, dict(zip(tokens, scores, strict=True))) == [text]


def test_runs_that_are_part_of_other_tokens() -> None:
    scores = {"a": -5.0, "b": -6.0, "aab": -1.0, "aa": -9.0, "aaa": -9.0, "aaaa": -9.0}
    for text in ("aaab", "aaaab", "aaaaab", "aabaaaaaaaaab"):
        assert _tokenize(text, list(scores), list(scores.values())) == _join_by_score(text, scores)


def test_ties_are_named() -> None:
    tokens = ["a", "b", "c", "ab", "bc", "ca"]
    scores = np.array([0, 0, 0, -1, -1, -2], np.float32)
    _, tied = merges_by_score(tokens, scores, np.ones(6, np.bool_))
    assert sorted(tokens[i] for i in tied) == ["ab", "bc"]


def _pairs(tokens: list[str], mergeable: NDArray[np.bool_]) -> list[str]:
    scores = -np.arange(len(tokens), dtype=np.float32)
    merges, _ = merges_by_score(tokens, scores, mergeable)
    return [f"{tokens[left]} {tokens[right]}" for left, right in zip(merges.left, merges.right, strict=True)]


def test_only_pairs_that_occur_are_kept() -> None:
    tokens = ["a", "b", "ab", "ba", "aba", "abab", "bb"]
    # "aba" is never "a ba", for "ab" is joined first; "abab" is never "aba b".
    assert _pairs(tokens, np.ones(7, np.bool_)) == ["a b", "b a", "ab a", "ab ab", "b b"]


def test_tokens_that_are_not_mergeable_take_no_part() -> None:
    mergeable = np.array([True, True, False, True])
    assert _pairs(["a", "b", "ab", "ba"], mergeable) == ["b a"]
    assert _pairs(["a", "b"], np.ones(2, np.bool_)) == []


def test_many_tokens_of_one_slot_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    tokens = list(dict.fromkeys(["a", "b", "c", *("".join(rng.choice(list("abc"), 12)) for _ in range(40_000))]))
    assert _pairs(tokens, np.ones(len(tokens), np.bool_)) == []
