import json
from dataclasses import asdict

import numpy as np
import pytest

from mobius_cli.judging.compare import MAX_RATIO, SIGMAS, compare, compare_exact

STEPS, VOCAB, TOP = 32, 200, 32


def log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def reference(logits, top=TOP):
    """tokens, top_ids and top_logprobs as llama.cpp would report them for these logits."""
    logprobs = log_softmax(np.asarray(logits, np.float64))
    ids = np.argsort(-logprobs, axis=1, kind="stable")[:, :top]
    return ids[:, 0], ids, np.take_along_axis(logprobs, ids, 1)


def model(seed=0, steps=STEPS, gap=2.0):
    """Logits with standard deviation 4 whose best token leads by `gap`: no accidental ties."""
    logits = np.random.default_rng(seed).normal(0, 4, (steps, VOCAB))
    second = np.sort(logits, axis=1)[:, -2]
    logits[np.arange(steps), logits.argmax(axis=1)] = second + gap
    return logits


def noisy(logits, sigma=0.1, seed=1):
    return (logits + np.random.default_rng(seed).normal(0, sigma, logits.shape)).astype(np.float32)


def swap_top(theirs, ours, step, their_margin, our_margin):
    """Make token 0 lead token 1 by `their_margin` there and trail by `our_margin` here, far above all others."""
    for logits, first in ((theirs, their_margin), (ours, -our_margin)):
        logits[step, 1] = logits[step].max() + 2
        logits[step, 0] = logits[step, 1] + first
    return theirs, ours


def test_equal_logits_are_identical():
    logits = model()
    found = compare(*reference(logits), logits)
    assert found.kind == "identical"
    assert (found.agreement, found.first_difference, found.differences, found.reason) == (1, None, (), "")
    assert found.steps == STEPS
    assert found.noise == pytest.approx(0, abs=1e-5)


def test_noise_without_another_argmax_is_identical():
    logits = model()
    found = compare(*reference(logits), noisy(logits))
    assert found.kind == "identical"
    assert found.noise == pytest.approx(0.1, rel=0.1)
    assert found.noise_ratio < MAX_RATIO / 2
    assert found.scale == pytest.approx(1, abs=0.02)
    assert found.max_abs_logprob_diff < 0.6


def test_a_tie_within_the_noise_is_a_near_tie():
    theirs = model()
    theirs, ours = swap_top(theirs, noisy(theirs), 5, 0.05, 0.07)
    found = compare(*reference(theirs), ours)
    assert found.kind == "near-tie"
    assert (found.first_difference, found.reason) == (5, "")
    (difference,) = found.differences
    assert (difference.step, difference.their_token, difference.our_token) == (5, 0, 1)
    assert difference.their_margin == pytest.approx(0.05)
    assert difference.our_margin == pytest.approx(0.07, abs=1e-5)
    assert difference.explained
    assert difference.limit >= SIGMAS * np.sqrt(2) * found.noise
    assert found.agreement == (STEPS - 1) / STEPS


@pytest.mark.parametrize(("their_margin", "our_margin"), [(3.0, 0.05), (0.05, 3.0), (3.0, 3.0)])
def test_a_margin_beyond_the_noise_in_either_engine_diverges(their_margin, our_margin):
    theirs = model()
    theirs, ours = swap_top(theirs, noisy(theirs), 5, their_margin, our_margin)
    found = compare(*reference(theirs), ours)
    assert found.kind == "diverged"
    assert found.first_difference == 5
    assert "step 5: token 1 instead of 0" in found.reason
    assert "not both below" in found.reason
    assert not found.differences[0].explained


def test_the_same_margin_is_a_tie_with_much_noise_and_none_with_little():
    kinds = {}
    for sigma in (0.01, 0.2):
        theirs = model()
        theirs, ours = swap_top(theirs, noisy(theirs, sigma), 5, 0.4, 0.4)
        kinds[sigma] = compare(*reference(theirs), ours).kind
    assert kinds == {0.01: "diverged", 0.2: "near-tie"}


def test_a_tie_of_1e_3_between_almost_equal_engines_is_a_near_tie():
    theirs = model()
    theirs, ours = swap_top(theirs, noisy(theirs, 1e-3), 0, 5e-4, 5e-4)
    assert compare(*reference(theirs), ours).kind == "near-tie"


def test_one_bad_step_does_not_hide_behind_a_good_one():
    theirs = model()
    theirs, ours = swap_top(theirs, noisy(theirs), 3, 0.02, 0.02)
    theirs, ours = swap_top(theirs, ours, 20, 4.0, 4.0)
    found = compare(*reference(theirs), ours)
    assert found.kind == "diverged"
    assert found.first_difference == 3
    assert [difference.explained for difference in found.differences] == [True, False]
    assert "step 20" in found.reason


def test_a_noisy_step_does_not_excuse_a_margin_beyond_its_spread():
    theirs = model()
    ours = noisy(theirs, 0.2)
    ours[5] = noisy(theirs[5], 0.8)
    theirs, ours = swap_top(theirs, ours, 5, 2.8, 2.8)
    found = compare(*reference(theirs), ours)
    assert found.kind == "diverged"
    others = reference(theirs)[2][5][2:]
    assert found.differences[0].limit == pytest.approx(1.5 * others.std())


def test_our_token_outside_their_candidates_diverges():
    theirs = model()
    ours = noisy(theirs)
    stranger = int(theirs[4].argmin())
    ours[4, stranger] = ours[4].max() + 0.01
    found = compare(*reference(theirs), ours)
    assert found.kind == "diverged"
    assert found.differences[0].their_margin is None
    assert "not among llama.cpp's candidates" in found.reason


def test_large_noise_excuses_nothing():
    logits = model(gap=0.1)
    found = compare(*reference(logits), noisy(logits, 1.0))
    assert found.kind == "diverged"
    assert "of the spread of the candidates" in found.reason


def test_large_noise_diverges_even_if_all_tokens_agree():
    logits = model(gap=30)
    found = compare(*reference(logits), noisy(logits, 1.0))
    assert found.agreement == 1
    assert found.kind == "diverged"


def test_unrelated_logits_diverge():
    assert compare(*reference(model(0)), model(7)).kind == "diverged"


def test_scaled_logits_diverge_though_all_tokens_agree():
    logits = model()
    found = compare(*reference(logits), noisy(logits * 1.1, 0.01))
    assert found.agreement == 1
    assert found.reason == "our logits are 1.100 times llama.cpp's"


def test_a_constant_per_step_is_no_difference():
    logits = model()
    shifted = noisy(logits) + np.linspace(-50, 50, STEPS, dtype=np.float32)[:, None]
    assert compare(*reference(logits), shifted).kind == "identical"


def test_one_step_with_another_expert():
    theirs = model()
    ours = noisy(theirs)
    ours[9] = model(5)[9]
    found = compare(*reference(theirs), ours)
    assert found.kind == "diverged"
    assert found.disturbed == 1
    assert found.first_difference == 9


def test_high_kl_diverges():
    # Two tokens share all the probability, and ours shares it otherwise: little noise, but at every step.
    theirs = np.full((STEPS, VOCAB), -30.0) + np.random.default_rng(0).normal(0, 4, (STEPS, VOCAB))
    theirs[:, :2] = [10.0, 9.8]
    ours = theirs.copy()
    ours[:, 0] += 0.9
    found = compare(*reference(theirs), ours)
    assert found.agreement == 1
    assert "mean KL divergence" in found.reason


def test_a_step_of_a_dense_model_with_unrelated_logits_diverges():
    theirs = model(gap=12)
    ours = noisy(theirs)
    ours[9] = model(5)[9]
    ours[9, theirs[9].argmax()] = ours[9].max() + 12
    found = compare(*reference(theirs), ours)
    assert found.agreement == 1
    assert "at step 9 noise is" in found.reason
    assert "above 0.8 at 1 of 32 steps" in found.reason


@pytest.mark.parametrize("steps", [1, 2, 7, 8])
def test_few_steps(steps):
    logits = model(steps=steps)
    assert compare(*reference(logits), noisy(logits)).kind == "identical"
    assert compare(*reference(logits), model(9, steps=steps)).kind == "diverged"


def test_a_single_near_tie_of_one_step():
    theirs = model(steps=1)
    theirs, ours = swap_top(theirs, noisy(theirs), 0, 0.05, 0.05)
    found = compare(*reference(theirs), ours)
    assert found.kind == "near-tie"
    assert found.agreement == 0


def test_nan_diverges_with_the_step():
    logits = model()
    ours = noisy(logits)
    ours[3, 7] = np.nan
    found = compare(*reference(logits), ours)
    assert (found.kind, found.reason) == ("diverged", "our logits at step 3 are not finite")
    assert found.noise is None


def test_a_smaller_vocabulary_diverges():
    logits = model()
    logits[0, VOCAB - 1] = 50
    assert "our vocabulary only 150 tokens" in compare(*reference(logits), logits[:, :150]).reason


def test_float16_ties_agree_with_their_token():
    theirs = model()
    theirs, ours = swap_top(theirs, noisy(theirs), 5, 0.001, 0.0)
    assert compare(*reference(theirs), ours.astype(np.float16)).kind == "identical"


def test_a_verdict_is_plain_json():
    theirs = model()
    theirs, ours = swap_top(theirs, noisy(theirs), 5, 0.05, 0.07)
    for found in (compare(*reference(theirs), ours), compare(*reference(theirs), ours * np.nan)):
        assert json.loads(json.dumps(asdict(found), allow_nan=False))["kind"] == found.kind


def test_wrong_shapes_are_errors():
    logits = model()
    with pytest.raises(ValueError):
        compare(*reference(logits), logits[1:])


def test_exact_needs_equal_tokens_and_close_logits():
    logits = model()
    found = compare_exact(*reference(logits), noisy(logits, 1e-3))
    assert found.kind == "identical"
    assert found.max_abs_logprob_diff < 0.01


def test_exact_diverges_beyond_the_tolerance():
    logits = model()
    ours = logits.copy()
    ours[6, int(np.argsort(-logits[6])[5])] += 0.08
    found = compare_exact(*reference(logits), ours)
    assert found.kind == "diverged"
    assert found.max_abs_logprob_diff == pytest.approx(0.08, abs=0.005)
    assert "more than 0.05" in found.reason
    assert compare_exact(*reference(logits), ours, tolerance=0.1).kind == "identical"


def test_exact_diverges_on_another_token_within_the_tolerance():
    theirs = model()
    theirs, ours = swap_top(theirs, noisy(theirs, 1e-4), 5, 0.02, 0.02)
    found = compare_exact(*reference(theirs), ours)
    assert found.kind == "diverged"
    assert "step 5" in found.reason


def test_exact_near_tie_only_where_float32_cannot_tell():
    theirs = model()
    theirs, ours = swap_top(theirs, noisy(theirs, 1e-3), 5, 1e-4, 1e-4)
    assert compare_exact(*reference(theirs), ours).kind == "near-tie"


def test_exact_reports_nan():
    logits = model()
    assert "not finite" in compare_exact(*reference(logits), logits * np.inf).reason
