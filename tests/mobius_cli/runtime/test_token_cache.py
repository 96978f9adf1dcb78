"""What is run of a new text: only what the cache has not, and more where a state goes back to marked places only."""

import numpy as np
import pytest

from mobius_cli.runtime.token_cache import CHUNK, TokenCache


class FakeDecoding:
    """Its logits are all tokens that it has read, the last of them first."""

    def __init__(self, anywhere: bool, calls: list[object]) -> None:
        self.anywhere, self.calls, self.read = anywhere, calls, list[int]()
        self.marked = 0

    def mark(self) -> None:
        self.marked = self.past

    def reachable(self, length: int) -> int:
        return length if self.anywhere else self.marked if self.marked <= length else 0

    @property
    def past(self) -> int:
        return len(self.read)

    def run(self, ids: list[int]) -> np.ndarray:
        self.calls.append(list(ids))
        self.read += ids
        return np.array([[0], [sum(2**i * token for i, token in enumerate(reversed(self.read[-10:])))]])

    def rewind(self, length: int) -> None:
        assert length == self.reachable(length)
        self.calls.append(length)
        del self.read[length:]


def cache(*, anywhere: bool = True) -> tuple[TokenCache, list[object]]:
    calls: list[object] = []
    return TokenCache(FakeDecoding(anywhere, calls)), calls  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("then", "calls"),
    [
        ([1, 2, 3, 4, 5], [[4, 5]]),  # goes on
        ([1, 2, 9, 9], [2, [9, 9]]),  # another way
        ([1, 2, 3], [2, [3]]),  # the same: the last token again, for its logits
        ([1, 2], [1, [2]]),
        ([7], [0, [7]]),
    ],
)
def test_only_what_is_new(then: list[int], calls: list[object]) -> None:
    kept, seen = cache()
    kept.extend_to([1, 2, 3])
    seen.clear()
    row = kept.extend_to(then)
    assert seen == calls
    assert kept.ids == then
    assert row is not None
    assert row.tolist() == [sum(2**i * token for i, token in enumerate(reversed(then)))]


def test_where_a_state_has_marks_it_goes_back_to_the_last_prompt_or_begins_anew() -> None:
    kept, seen = cache(anywhere=False)
    kept.extend_to([1, 2, 3])
    kept.append([7])
    kept.extend_to([1, 2, 3, 4])
    assert seen == [[1, 2, 3], [7], 3, [4]]
    kept.extend_to([1, 2, 9])
    assert seen[4:] == [0, [1, 2, 9]]
    assert kept.ids == [1, 2, 9]


def test_generated_tokens_count() -> None:
    kept, seen = cache()
    kept.extend_to([1, 2])
    kept.append([3])
    kept.extend_to([1, 2, 3, 4])
    assert seen == [[1, 2], [3], [4]]


def test_stopped_between_chunks_it_keeps_what_was_run() -> None:
    kept, seen = cache()
    ids = list(range(3 * CHUNK))
    answers = iter([False, True])
    assert kept.extend_to(ids, lambda: next(answers)) is None
    assert kept.ids == ids[:CHUNK]
    assert kept.extend_to(ids) is not None
    assert [len(call) for call in seen if isinstance(call, list)] == [CHUNK] * 3
    assert kept.ids == ids
