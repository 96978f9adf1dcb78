"""Which tokens may be drawn, worked out by hand; and draws that follow the distribution and the seed."""

import numpy as np
import pytest

from mobius_cli.runtime.sampling import Sampling, distribution, most_likely, picker
from repack.errors import MobiusError

# Logits are logarithms, so that these are the probabilities: 0.1, 0.4, 0.05, 0.3, 0.15.
LOGITS = np.log(np.array([0.1, 0.4, 0.05, 0.3, 0.15])).astype(np.float32)


def drawn(logits: np.ndarray = LOGITS, **sampling: float) -> dict[int, float]:
    """Token to probability, to four digits, the most likely first."""
    ids, probabilities = distribution(logits, Sampling(**{"temperature": 1.0, **sampling}))
    pairs = sorted(zip(ids.tolist(), probabilities.tolist(), strict=True), key=lambda pair: -pair[1])
    return {token: round(probability, 4) for token, probability in pairs}


def test_all() -> None:
    assert drawn() == {1: 0.4, 3: 0.3, 4: 0.15, 0: 0.1, 2: 0.05}


@pytest.mark.parametrize(
    ("k", "wanted"),
    [(1, {1: 1.0}), (2, {1: 0.5714, 3: 0.4286}), (5, drawn()), (9, drawn()), (0, drawn())],  # 4/7, 3/7
)
def test_top_k(k: int, wanted: dict[int, float]) -> None:
    assert drawn(top_k=k) == wanted


def test_top_k_of_equal_logits_takes_the_first() -> None:
    logits = np.array([1, 2, 2, 2, 0], np.float32)
    assert drawn(logits, top_k=2) == {1: 0.5, 2: 0.5}


@pytest.mark.parametrize(
    ("p", "wanted"),
    [
        (0.05, {1}),  # at least one
        (0.39, {1}),
        (0.41, {1, 3}),  # 0.4 is not enough
        (0.69, {1, 3}),
        (0.71, {1, 3, 4}),
        (0.96, {0, 1, 2, 3, 4}),
        (1.0, {0, 1, 2, 3, 4}),
    ],
)
def test_top_p(p: float, wanted: set[int]) -> None:
    assert drawn(top_p=p).keys() == wanted


@pytest.mark.parametrize(
    ("p", "wanted"),  # of 0.4: 0.25 is 0.1, 0.5 is 0.2
    [(0.0, {0, 1, 2, 3, 4}), (0.2, {0, 1, 3, 4}), (0.26, {1, 3, 4}), (0.5, {1, 3}), (0.8, {1}), (1.0, {1})],
)
def test_min_p(p: float, wanted: set[int]) -> None:
    assert drawn(min_p=p).keys() == wanted


def test_the_order_of_the_three() -> None:
    """Top-k leaves 4/7 and 3/7, of which top-p 0.55 takes the first; of all, it would take two."""
    assert drawn(top_k=2, top_p=0.55) == {1: 1.0}
    assert drawn(top_p=0.55).keys() == {1, 3}


def test_temperature_comes_last() -> None:
    """Top-p looks at the model's own distribution; then 0.4 and 0.3 become squares: 16/25, 9/25."""
    assert drawn(top_p=0.41, temperature=0.5) == {1: 0.64, 3: 0.36}
    assert drawn(top_p=0.41, temperature=100) == {1: 0.5007, 3: 0.4993}
    assert drawn(min_p=0.5, temperature=0.5) == {1: 0.64, 3: 0.36}


def test_a_low_temperature_is_no_overflow() -> None:
    assert drawn(np.array([500, 499, 0], np.float32), temperature=1e-4)[0] == 1.0


def test_what_must_not_be_drawn() -> None:
    logits = LOGITS.copy()
    logits[1] = -np.inf
    assert 1 not in drawn(logits)
    assert drawn(logits, top_k=9).keys() == {0, 2, 3, 4}


def test_draws_follow_the_distribution() -> None:
    """2000 draws of three tokens: each count within 5 sigma of what is expected."""
    probabilities = np.array([0.2, 0.5, 0.3])
    pick = picker(Sampling(temperature=1.0), seed=7)
    counts = np.bincount([pick(np.log(probabilities).astype(np.float32)) for _ in range(2000)], minlength=3)
    sigma = np.sqrt(2000 * probabilities * (1 - probabilities))
    assert (np.abs(counts - 2000 * probabilities) < 5 * sigma).all(), counts


def test_seeds() -> None:
    def draws(seed: int) -> list[int]:
        pick = picker(Sampling(temperature=1.5), seed)
        return [pick(LOGITS) for _ in range(40)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert len(set(draws(1))) > 1


def test_temperature_0_is_greedy_whatever_else_is_given() -> None:
    pick = picker(Sampling(temperature=0, top_k=3, top_p=0.5), seed=1)
    assert [pick(LOGITS) for _ in range(20)] == [1] * 20
    assert most_likely(np.array([1, 3, 3], np.float32)) == 1


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.0, top_k=2)], ids=str)
@pytest.mark.parametrize(
    "logits", [[-np.inf] * 3, [0, np.nan, 1], [np.nan] * 3, [0, np.inf, 1]], ids=["-inf", "a nan", "nan", "inf"]
)
def test_no_logits_to_choose_by(sampling: Sampling, logits: list[float]) -> None:
    with pytest.raises(MobiusError, match="no token can be chosen: the model's largest logit is"):
        picker(sampling, seed=0)(np.array(logits, np.float32))


def test_in_words() -> None:
    assert str(Sampling()) == str(Sampling(0, 40, 0.9)) == "greedy"
    assert str(Sampling(0.7, 40, 0.95, 0.05)) == "temperature 0.7, top-k 40, top-p 0.95, min-p 0.05"
    assert str(Sampling(1)) == "temperature 1"
