"""float16's noise from numbers made by hand: what is compared with what, and when there is nothing to compare."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mobius_cli.judging.float16_noise import Float16Noise, float16_noise, of_candidates
from mobius_cli.judging.reference import PromptReference

FULL = np.array([[2.0, 1, 0, -1], [3.0, 1, 0, -2], [1.0, 0, -1, -2]])  # logits of the float32 graph
WOBBLE = np.array([[1.0, -1, 1, -1]]) * [[0.1], [0.2], [0.4]]


def log_softmax(logits: Any) -> Any:
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def prompt(llama: Any = FULL, full: Any = FULL, top: int = 4) -> PromptReference:
    """A reference of llama.cpp with logits `llama` and of our float32 graph with `full`."""
    ids = np.argsort(-llama, axis=1, kind="stable")[:, :top]
    theirs, ours = (np.take_along_axis(log_softmax(side), ids, 1) for side in (llama, full))
    return PromptReference("x", [1], ids[:, 0].tolist(), ids, theirs, ours)


def noise(reference: PromptReference, half: Any) -> Float16Noise:
    found = float16_noise(reference, of_candidates(reference, half))
    assert found is not None
    return found


def test_it_is_the_difference_of_the_two_graphs() -> None:
    found = noise(prompt(), FULL + WOBBLE)
    assert found.step_noise == pytest.approx((0.1, 0.2, 0.4))
    assert found.noise == pytest.approx(0.2)  # the median
    assert noise(prompt(), FULL).noise == pytest.approx(0, abs=1e-6)


def test_llama_cpps_distance_does_not_count() -> None:
    """Its numbers lie far off, and its tokens differ from both graphs'; they only say which tokens are compared."""
    found = noise(prompt(llama=FULL[:, [1, 0, 3, 2]] + 5 * WOBBLE), FULL + WOBBLE)
    assert found.step_noise == pytest.approx((0.1, 0.2, 0.4))
    assert found.noise == pytest.approx(0.2)


def test_the_two_tokens_that_the_graphs_dispute_do_not_count() -> None:
    half = FULL + WOBBLE
    half[1] = [1, 3, 0.3, -2.3]  # the first two changed places
    found = noise(prompt(), half)
    assert found.step_noise == pytest.approx((0.1, 0.3, 0.4))
    assert found.noise == pytest.approx(0.25)  # the median of the steps that agree


def test_the_normalizer_does_not_count() -> None:
    assert noise(prompt(top=2), FULL + np.array([0, 0, 2.0, 2.0])).noise == pytest.approx(0, abs=1e-6)


def test_without_one_of_the_graphs_there_is_none() -> None:
    reference = prompt()
    assert float16_noise(reference, None) is None
    old = replace(reference, float32_logprobs=None)
    assert float16_noise(old, of_candidates(old, FULL)) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_logits_that_cannot_be_measured(bad: float) -> None:
    half = FULL.copy()
    half[1, 3] = bad
    assert of_candidates(prompt(), half) is None
    assert of_candidates(prompt(), FULL[:, :3]) is None  # a smaller vocabulary


def test_our_side_of_the_candidates() -> None:
    ours = of_candidates(prompt(top=2), FULL)
    assert ours is not None
    expected = -math.log(1 + math.exp(-1) + math.exp(-2) + math.exp(-3))
    assert ours.logprobs[0] == pytest.approx([expected, expected - 1])
    with pytest.raises(ValueError, match="for 3 steps"):
        of_candidates(prompt(), FULL[:2])
