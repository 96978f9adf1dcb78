import math

import numpy as np
import pytest

from mobius_cli.judging.measure import Measured, Ours, Theirs, measure


def log_softmax(logits):
    logits = np.asarray(logits, np.float64)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def measured(theirs_logits, our_logits, top=None) -> Measured:
    logprobs = log_softmax(theirs_logits)
    ids = np.argsort(-logprobs, axis=1, kind="stable")[:, :top]
    theirs = Theirs.of(ids[:, 0], ids, np.take_along_axis(logprobs, ids, 1))
    ours = Ours.of(theirs, np.asarray(our_logits))
    assert isinstance(ours, Ours)
    return measure(theirs, ours)


def test_equal_logits_measure_zero():
    found = measured([[2.0, 1, 0, -1]], [[2.0, 1, 0, -1]])
    assert found.agrees.all()
    assert found.noise == pytest.approx(0, abs=1e-6)
    assert found.kl[0] == pytest.approx(0, abs=1e-6)
    assert found.scale == pytest.approx(1)
    assert found.max_abs == pytest.approx(0, abs=1e-6)


def test_noise_ratio_and_scale_by_hand():
    found = measured([[2.0, 1, 0, -1]], [[2.1, 0.9, 0.1, -1.1]])
    assert found.noise == pytest.approx(0.1)
    assert found.ratio[0] == pytest.approx(0.1 / math.sqrt(2 / 3))  # of 1, 0, -1: their best does not count
    assert found.scale == pytest.approx(5.2 / 5)


def test_a_constant_per_step_changes_nothing():
    found = measured([[2.0, 1, 0, -1]], [[9.0, 8, 7, 6]])
    assert found.noise == pytest.approx(0, abs=1e-6)
    assert found.max_abs == pytest.approx(0, abs=1e-6)


def test_tokens_outside_the_candidates_move_the_normalizer_only():
    found = measured([[3.0, 2, 0]], [[3.0, 2, 2]], top=2)
    assert found.noise == pytest.approx(0, abs=1e-6)
    moved = math.log(math.exp(3) + 2 * math.exp(2)) - math.log(math.exp(3) + math.exp(2) + 1)
    assert found.max_abs == pytest.approx(moved, rel=1e-6)


def test_kl_by_hand():
    by_hand = 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)
    assert measured([[0.0, 0]], [[math.log(4), 0]]).kl[0] == pytest.approx(by_hand, rel=1e-6)


def test_kl_counts_all_other_tokens_as_one():
    halves = np.log([[0.5, 0.25, 0.25]])
    ours = np.log([[0.8, 0.1, 0.1]])
    by_hand = 0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2)
    assert measured(halves, ours, top=1).kl[0] == pytest.approx(by_hand, rel=1e-6)


def test_the_two_tokens_in_dispute_do_not_count_as_noise():
    found = measured([[5.0, 4, 1, 0, -1]], [[4.0, 5, 1.2, -0.2, -1]])
    assert not found.agrees[0]
    # Of the candidates 1, 0, -1 ours are 1.2, -0.2, -1; both have mean 0.
    assert found.step_noise[0] == pytest.approx(math.sqrt(0.08 / 3))


def test_noise_is_the_median_of_the_steps_that_agree():
    theirs = np.tile([[2.0, 1, 0, -1]], (4, 1))
    wobble = np.array([[1.0, -1, 1, -1]]) * [[0.1], [0.2], [0.3], [0.0]]
    ours = theirs + wobble
    ours[3] = [1, 2, 5, -9]
    assert measured(theirs, ours).noise == pytest.approx(0.2)


def test_noise_comes_from_all_steps_if_none_agrees():
    found = measured([[5.0, 4, 1, 0, -1]], [[4.0, 5, 1.2, -0.2, -1]])
    assert found.noise == found.step_noise[0] > 0


def test_underflowed_candidates_are_left_out():
    theirs = Theirs.of([0], [[0, 1, 2]], [[-0.1, -2.35, -3.4e38]])
    ours = Ours.of(theirs, [[2.25, 0.0, -120.0]])
    assert isinstance(ours, Ours)
    found = measure(theirs, ours)
    assert found.noise == pytest.approx(0, abs=1e-6)
    assert found.max_abs < 0.01


def test_flat_logits_have_no_spread_and_no_ratio():
    assert measured([[0.0, 0, 0]], [[0.0, 0, 0]]).ratio[0] == 0
    assert measured([[0.0, 0, 0]], [[0.0, 0, 0]]).scale == 1


def test_float16_logits_near_the_largest_value():
    logits = np.array([[60000.0, 59968.0, 100.0]], np.float16)
    theirs = Theirs.of([0], [[0, 1]], [[0.0, -32.0]])
    ours = Ours.of(theirs, logits)
    assert isinstance(ours, Ours)
    assert ours.logprobs[0] == pytest.approx([0, -32])


def test_an_exact_tie_goes_to_their_token():
    theirs = Theirs.of([2], [[2, 0]], [[-0.7, -0.7]])
    ours = Ours.of(theirs, [[1.0, 0.0, 1.0]])
    assert isinstance(ours, Ours)
    assert ours.tokens.tolist() == [2]
    assert ours.margins.tolist() == [0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_logits_that_are_not_finite_are_named_by_step(bad):
    theirs = Theirs.of([0, 0], [[0], [0]], [[-0.1], [-0.1]])
    assert "step 1 are not finite" in str(Ours.of(theirs, [[1.0, 0.0], [1.0, bad]]))


def test_a_smaller_vocabulary_is_named():
    theirs = Theirs.of([7], [[7]], [[-0.1]])
    assert "a token 7, our vocabulary only 5 tokens" in str(Ours.of(theirs, np.zeros((1, 5))))


@pytest.mark.parametrize(
    ("tokens", "ids", "logprobs"),
    [
        ([], [], []),
        ([1], [[1, 2]], [[-0.1]]),
        ([1, 1], [[1]], [[-0.1]]),
        ([3], [[1, 2]], [[-0.1, -2]]),
    ],
)
def test_a_reference_that_does_not_fit_together(tokens, ids, logprobs):
    with pytest.raises(ValueError):
        Theirs.of(tokens, ids, logprobs)


@pytest.mark.parametrize("shape", [(5,), (2, 5)])
def test_logits_of_another_shape(shape):
    with pytest.raises(ValueError, match="for 1 steps"):
        Ours.of(Theirs.of([1], [[1]], [[-0.1]]), np.zeros(shape))
