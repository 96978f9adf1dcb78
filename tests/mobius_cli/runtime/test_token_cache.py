"""What is run of a new text: only what the cache has not, and all of it where a state cannot go back."""

import numpy as np
import pytest

from mobius_cli.runtime.token_cache import CHUNK, TokenCache


class FakeDecoding:
    """Its logits are all tokens that it has read, the last of them first."""

    def __init__(self, rewinds: bool, calls: list[object]) -> None:
        self.rewinds, self.calls, self.read = rewinds, calls, list[int]()
        calls.append("start")

    @property
    def past(self) -> int:
        return len(self.read)

    def run(self, ids: list[int]) -> np.ndarray:
        self.calls.append(list(ids))
        self.read += ids
        return np.array([[0], [sum(2**i * token for i, token in enumerate(reversed(self.read[-10:])))]])

    def rewind(self, length: int) -> None:
        assert self.rewinds
        self.calls.append(length)
        del self.read[length:]


def cache(*, rewinds: bool = True) -> tuple[TokenCache, list[object]]:
    calls: list[object] = []
    return TokenCache(lambda: FakeDecoding(rewinds, calls)), calls  # type: ignore[arg-type, return-value]


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


def test_where_a_state_cannot_go_back_it_begins_anew() -> None:
    kept, seen = cache(rewinds=False)
    kept.extend_to([1, 2, 3])
    kept.extend_to([1, 2, 3, 4])
    kept.extend_to([1, 2, 9])
    assert seen == ["start", [1, 2, 3], [4], "start", [1, 2, 9]]
    assert kept.ids == [1, 2, 9]


def test_generated_tokens_count() -> None:
    kept, seen = cache()
    kept.extend_to([1, 2])
    kept.append([3])
    kept.extend_to([1, 2, 3, 4])
    assert seen == ["start", [1, 2], [3], [4]]


def test_stopped_between_chunks_it_keeps_what_was_run() -> None:
    kept, seen = cache()
    ids = list(range(3 * CHUNK))
    answers = iter([False, True])
    assert kept.extend_to(ids, lambda: next(answers)) is None
    assert kept.ids == ids[:CHUNK]
    assert kept.extend_to(ids) is not None
    assert [len(call) for call in seen if isinstance(call, list)] == [CHUNK] * 3
    assert kept.ids == ids
