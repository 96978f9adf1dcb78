import pytest

from mobius_cli.llama_cpp.answer import align, check_argmax, generation
from repack.errors import MobiusError


def row(token, *others):
    entries = [{"id": i, "logprob": -0.5 - n} for n, i in enumerate((token, *others))]
    return {"id": token, "logprob": -0.5, "top_logprobs": entries}


def aligned(tokens, ids):
    return [None if found is None else found["id"] for found in align(tokens, [row(i) for i in ids])]


@pytest.mark.parametrize(
    ("tokens", "ids", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], [1, 2, 3]),
        ([1, 2, 3], [3], [None, None, 3]),
        ([1, 2, 3], [], [None, None, None]),
        ([5, 5, 5], [5, 5, 5], [5, 5, 5]),
        ([5, 5, 7], [5, 7], [None, None, 7]),  # which 5 it is cannot be told: both are asked for again
        ([1, 5, 2, 5, 3], [1, 2, 5, 3], [1, None, 2, 5, 3]),
    ],
)
def test_rows_are_given_to_their_tokens(tokens, ids, expected):
    assert aligned(tokens, ids) == expected


@pytest.mark.parametrize("ids", [[4], [2, 1], [1, 2, 3, 3]])
def test_rows_of_other_tokens_are_an_error(ids):
    with pytest.raises(MobiusError, match="do not match"):
        aligned([1, 2, 3], ids)


def test_rows_without_ids_are_an_error():
    with pytest.raises(MobiusError, match="do not match"):
        align([1], [{"content": "old format", "probs": []}])


def test_the_picked_token_must_be_the_most_probable():
    check_argmax(row(3, 4), 3)
    tie = {"id": 3, "logprob": -1.0, "top_logprobs": [{"id": 4, "logprob": -1.0}, {"id": 3, "logprob": -1.0}]}
    check_argmax(tie, 3)
    biased = {"id": 3, "logprob": -2.0, "top_logprobs": [{"id": 4, "logprob": -1.0}, {"id": 3, "logprob": -2.0}]}
    with pytest.raises(MobiusError, match="picked token 3 where 4 is more probable"):
        check_argmax(biased, 3)


def test_generation_without_timings():
    found = generation({"tokens": [3], "stop_type": "eos"}, [row(3, 4)], "b1")
    assert (found.tokens, found.stop, found.tokens_per_second) == ([3], "eos", 0)
    assert found.top_ids.tolist() == [[3, 4]]
    assert found.top_logprobs.tolist() == [[-0.5, -1.5]]
