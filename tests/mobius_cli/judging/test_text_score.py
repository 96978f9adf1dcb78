import math
from dataclasses import asdict

import numpy as np
import pytest

from mobius_cli.judging.text_reference import TextReference
from mobius_cli.judging.text_score import MAX_NOISE, SIGMAS, score_text

STEPS, VOCAB = 64, 200


def log_softmax(logits):
    logits = np.asarray(logits, np.float64)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def reference(logits, following, top=64):
    """What llama.cpp with these logits [steps, vocab] says of a text whose tokens are 0 and then `following`."""
    logprobs = log_softmax(logits)
    ids = np.argsort(-logprobs, axis=1, kind="stable")[:, :top]
    own = np.take_along_axis(logprobs, np.asarray(following)[:, None], 1)[:, 0]
    return TextReference("t.txt", [0, *map(int, following)], own, ids, np.take_along_axis(logprobs, ids, 1))


def model(seed=0, steps=STEPS):
    logits = np.random.default_rng(seed).normal(0, 3, (steps, VOCAB))
    return logits, np.random.default_rng(seed + 1).integers(0, VOCAB, steps)


def noisy(logits, sigma=0.1, seed=2):
    return (logits + np.random.default_rng(seed).normal(0, sigma, logits.shape)).astype(np.float32)


def test_equal_logits():
    logits, following = model()
    found = score_text(reference(logits, following), [logits])
    assert (found.verdict, found.reason, found.name, found.tokens) == ("agrees", "", "t.txt", STEPS)
    own = log_softmax(logits)[np.arange(STEPS), following]
    assert found.perplexity_llama_cpp == pytest.approx(np.exp(-own.mean()))
    assert found.perplexity_onnx_runtime == pytest.approx(np.exp(-own.mean()), rel=1e-6)
    assert (found.ratio, found.agreement) == (pytest.approx(1), 1)
    assert max(found.ratio_error, found.mean_kl, found.p99_kl) < 1e-6


def test_by_hand():
    """Theirs: 1/4 each. Ours: 0.7 and three times 0.1. The text is token 0, or 1 at a quarter of the steps."""
    following = [0, 0, 0, 1] * 4
    found = score_text(reference(np.zeros((16, 4)), following), [np.log(np.tile([0.7, 0.1, 0.1, 0.1], (16, 1)))])
    assert found.perplexity_llama_cpp == pytest.approx(4)
    ours = math.exp(-(3 * math.log(0.7) + math.log(0.1)) / 4)
    assert found.perplexity_onnx_runtime == pytest.approx(ours)
    assert found.ratio == pytest.approx(ours / 4)
    differences = [math.log(0.7 / 0.25), math.log(0.7 / 0.25), math.log(0.7 / 0.25), math.log(0.1 / 0.25)]
    deviation = math.sqrt(sum((d - sum(differences) / 4) ** 2 for d in differences) * 4 / 15)
    assert found.ratio_error == pytest.approx(ours / 4 * deviation / 4)
    kl = 0.25 * math.log(0.25 / 0.7) + 0.75 * math.log(0.25 / 0.1)
    assert [found.mean_kl, found.median_kl, found.p99_kl] == pytest.approx([kl] * 3)
    assert found.agreement == 1  # of equally likely tokens llama.cpp's first is 0
    assert found.verdict == "diverged"


def test_all_other_tokens_count_as_one():
    following = [2] * 16
    theirs, ours = np.log([[0.5, 0.3, 0.2]] * 16), np.log([[0.8, 0.15, 0.05]] * 16)
    found = score_text(reference(theirs, following, top=1), [ours])
    assert found.mean_kl == pytest.approx(0.5 * math.log(0.5 / 0.8) + 0.5 * math.log(0.5 / 0.2))
    assert found.perplexity_llama_cpp == pytest.approx(5)  # also of a token that is no candidate
    assert found.perplexity_onnx_runtime == pytest.approx(20)


def test_median_and_percentile_over_the_whole_vocabulary():
    theirs, following = model()
    ours = noisy(theirs, 0.2)
    found = score_text(reference(theirs, following, top=VOCAB), [ours])
    p, q = log_softmax(theirs), log_softmax(ours)
    kl = (np.exp(p) * (p - q)).sum(1)
    expected = [kl.mean(), np.median(kl), np.quantile(kl, 0.99)]
    assert [found.mean_kl, found.median_kl, found.p99_kl] == pytest.approx(expected, abs=1e-4)
    assert found.agreement == (p.argmax(1) == q.argmax(1)).mean() < 1


@pytest.mark.parametrize("lengths", [[64], [1] * 64, [1, 50, 13], [0, 64]])
def test_pieces_do_not_matter(lengths):
    theirs, following = model()
    ours, text = noisy(theirs), reference(theirs, following)
    pieces = np.split(ours, np.cumsum(lengths)[:-1])
    found = score_text(text, (piece for piece in pieces if len(piece)))
    assert asdict(found) == pytest.approx(asdict(score_text(text, [ours])))


def test_noise_agrees_and_much_of_it_diverges():
    theirs, following = model()
    text = reference(theirs, following)
    found = score_text(text, [noisy(theirs, 0.1)])
    assert found.verdict == "agrees"
    assert 0 < found.noise_ratio < MAX_NOISE
    found = score_text(text, [noisy(theirs, 0.6)])
    assert found.reason.startswith("noise is 0.")


def test_a_factor_diverges():
    theirs, following = model()
    found = score_text(reference(theirs, following), [theirs * 1.1])
    assert found.reason == "our logits are 1.100 times llama.cpp's"


def test_wrong_probabilities_with_little_noise_diverge():
    """The best token's lead, now larger and now smaller, is little among 200 candidates."""
    theirs, following = model()
    ours = theirs.copy()
    ours[np.arange(STEPS), theirs.argmax(1)] += np.tile([0.8, -0.8], STEPS // 2)
    found = score_text(reference(theirs, following, top=VOCAB), [ours])
    assert found.reason.startswith("mean KL divergence is 0.0")
    assert found.noise_ratio < MAX_NOISE and abs(found.scale - 1) < 0.05


def test_one_odd_step_does_not_decide_and_two_do():
    theirs, following = model()
    ours, text = noisy(theirs, 0.02), reference(theirs, following)
    ours[5, 7] += 30
    found = score_text(text, [ours])
    assert found.verdict == "agrees"
    assert found.mean_kl > 0.1 > found.median_kl
    ours[6, 7] += 30
    assert "without the worst step" in score_text(text, [ours]).reason


def unlikely_text(shifts):
    """A text of improbable tokens, that are `shifts` nats less probable in ONNX Runtime."""
    theirs, _ = model()
    following = theirs.argmin(1)
    ours = theirs.copy()
    ours[np.arange(STEPS), following] -= shifts
    return score_text(reference(theirs, following), [ours])


def test_the_texts_own_tokens_count_beyond_the_candidates():
    found = unlikely_text(0.2 + 0.01 * np.arange(STEPS) / STEPS)
    assert found.mean_kl < 1e-3
    assert found.ratio == pytest.approx(math.exp(0.205), rel=1e-3)
    assert found.reason.startswith("perplexity is 1.227 of llama.cpp's")


def test_a_ratio_within_its_error_or_within_three_percent_agrees():
    wide = unlikely_text(np.random.default_rng(0).normal(0.3, 3, STEPS))
    assert wide.verdict == "agrees"
    assert 0.03 < math.log(wide.ratio) < SIGMAS * wide.ratio_error / wide.ratio
    small = unlikely_text(np.full(STEPS, 0.02))
    assert small.verdict == "agrees"
    assert small.ratio == pytest.approx(math.exp(0.02), rel=1e-3)


def test_underflowed_probabilities_count_as_the_same_on_both_sides():
    theirs, following = model()
    following[3] = theirs[3].argmin()
    text = reference(theirs, following)
    text.logprobs[3] = -3.4e38
    ours = theirs.copy()
    ours[3, following[3]] = -150
    found = score_text(text, [ours])
    assert found.ratio == pytest.approx(1, abs=1e-6)
    others = np.delete(log_softmax(theirs)[np.arange(STEPS), following], 3)
    assert found.perplexity_llama_cpp == pytest.approx(math.exp((87 - others.sum()) / STEPS))


def test_exact_allows_little():
    theirs, following = model()
    ours, text = theirs + 0.0, reference(theirs, following)
    ours[5, theirs[5].argmax()] += 0.04
    assert score_text(text, [ours], exact=True).verdict == "agrees"
    ours[5, theirs[5].argmax()] += 0.2
    assert score_text(text, [ours]).verdict == "agrees"
    assert "a log-probability differs by" in score_text(text, [ours], exact=True).reason


def test_logits_that_are_no_numbers():
    theirs, following = model()
    ours = theirs + 0.0
    ours[40, 3] = np.nan
    found = score_text(reference(theirs, following), [ours[:32], ours[32:]])
    assert found.reason == "from token 33 on: our logits at step 8 are not finite"
    assert (found.verdict, found.tokens, found.ratio, found.mean_kl) == ("diverged", STEPS, None, None)


def test_too_few_logits_are_an_error():
    theirs, following = model()
    with pytest.raises(ValueError, match="logits of 63 steps for 64"):
        score_text(reference(theirs, following), [theirs[:-1]])
