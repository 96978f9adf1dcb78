"""Perplexity of both engines and KL divergence over a given text, teacher-forced: numbers, and a verdict on means.

Steps are not judged one by one, as those of a prompt are: of a thousand honest steps one is odd (SmolLM2 has no
token that begins a text, and in float16 the second token of one was 0.8 nats off). So a single step never decides.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mobius_cli.judging.compare import EXACT_TOLERANCE, MAX_MEAN_KL, MAX_SCALE_ERROR
from mobius_cli.judging.measure import Floats, Measured, Ours, Theirs, measure
from mobius_cli.judging.text_reference import TextReference

# Honest: prose, code and a mixture of languages, of SmolLM2 and Gemma 3 270M in float32 and float16: mean KL 0.002 to
# 0.010 nats, perplexity 0.990 to 1.013 of llama.cpp's. Wrong: a norm in the middle of SmolLM2 scaled by 1.3: 0.019 to
# 0.057 nats, 1.019 to 1.103. Gemma with such a norm has 0.010 nats and 0.99, as honest ones: --exact finds that.
MAX_NOISE = 0.2  # median over the spread of 64 candidates; honest at most 0.17, those wrong ones from 0.20
MAX_LOG_RATIO = math.log(1.03)  # of the perplexities; counts only beyond SIGMAS standard errors
SIGMAS = 3.0
_FLOOR = -87.0  # nats: float32 probabilities underflow below, and llama.cpp then answers -3e38


@dataclass(frozen=True)
class TextScore:
    """Both engines on a text; `reason` is a sentence if "diverged", else empty.

    `tokens` counts those scored: all but the first, which has nothing before it. Perplexities are exp of minus the
    mean log-probability of the text's tokens; `ratio` is ONNX Runtime's over llama.cpp's, `ratio_error` its standard
    error: that of the mean difference of log-probabilities, token by token, times the ratio. (A last part in 10,000
    is llama.cpp's own: its float32 softmax does not sum to 1 any better.)
    KL divergences (nats, llama.cpp's from ours) are over llama.cpp's candidates and all other tokens as one, which
    makes them a lower bound, and a close one. `agreement` is the fraction of steps with the same most likely token.
    `Measured` says what the others are. Numbers are None if nothing could be measured.
    """

    verdict: Literal["agrees", "diverged"]
    name: str
    tokens: int
    perplexity_llama_cpp: float | None = None
    perplexity_onnx_runtime: float | None = None
    ratio: float | None = None
    ratio_error: float | None = None
    mean_kl: float | None = None
    median_kl: float | None = None
    p99_kl: float | None = None
    agreement: float | None = None
    noise_ratio: float | None = None
    scale: float | None = None
    max_abs_logprob_diff: float | None = None
    reason: str = ""


def score_text(text: TextReference, pieces: Iterable[NDArray[np.float32]], *, exact: bool = False) -> TextScore:
    """Judge logits [tokens, vocab] of `text.ids[:-1]`, given in consecutive `pieces` of them to bound memory.

    "diverged" if they are a multiple of llama.cpp's, if noise, mean KL (without the worst step) or the ratio of
    perplexities exceeds what rounding explains, or with `exact` if a candidate's log-probability differs by more
    than EXACT_TOLERANCE nats. Raises ValueError if shapes do not fit.
    """
    theirs = Theirs.of(text.top_ids[:, 0], text.top_ids, text.top_logprobs)
    parts: list[Ours] = []
    logprobs: list[Floats] = []
    done = 0
    for logits in pieces:
        rows = slice(done, done + len(logits))
        part = Ours.of(Theirs(theirs.tokens[rows], theirs.ids[rows], theirs.logprobs[rows]), logits)
        if isinstance(part, str):
            return TextScore("diverged", text.name, len(theirs.tokens), reason=f"from token {done + 1} on: {part}")
        parts.append(part)
        logprobs.append(_following(text.ids[done + 1 : rows.stop + 1], theirs.tokens[rows], part, logits))
        done = rows.stop
    if done != len(theirs.tokens):
        raise ValueError(f"logits of {done} steps for {len(theirs.tokens)}")
    ours = Ours(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("logprobs", "tokens", "margins")))
    return _score(text, measure(theirs, ours), np.concatenate(logprobs), exact)


def _following(ids: list[int], best: NDArray[np.int64], part: Ours, logits: NDArray[np.float32]) -> Floats:
    """Our log-probabilities of the text's own tokens; `part` knows the normalizer, from their best candidate."""
    steps = np.arange(len(ids))
    found: Floats = part.logprobs[:, 0] + (logits[steps, ids].astype(np.float64) - logits[steps, best])
    return found


def _score(text: TextReference, measured: Measured, logprobs: Floats, exact: bool) -> TextScore:
    theirs, ours = (np.maximum(side, _FLOOR) for side in (text.logprobs, logprobs))
    log_ratio = float((theirs - ours).mean())
    error = float((theirs - ours).std(ddof=1)) / math.sqrt(len(ours))
    reason = _exact_reason(measured) if exact else _reason(measured, log_ratio, error)
    return TextScore(
        verdict="diverged" if reason else "agrees",
        name=text.name,
        tokens=len(ours),
        perplexity_llama_cpp=math.exp(-theirs.mean()),
        perplexity_onnx_runtime=math.exp(-ours.mean()),
        ratio=math.exp(log_ratio),
        ratio_error=math.exp(log_ratio) * error,
        mean_kl=float(measured.kl.mean()),
        median_kl=float(np.median(measured.kl)),
        p99_kl=float(np.quantile(measured.kl, 0.99)),
        agreement=float(measured.agrees.mean()),
        noise_ratio=float(np.median(measured.ratio)),
        scale=measured.scale,
        max_abs_logprob_diff=measured.max_abs,
        reason=reason,
    )


def _exact_reason(measured: Measured) -> str:
    if measured.max_abs > EXACT_TOLERANCE:
        return f"a log-probability differs by {measured.max_abs:.3g}, more than {EXACT_TOLERANCE:g}"
    return ""


def _reason(measured: Measured, log_ratio: float, error: float) -> str:
    """Why no rounding explains the difference; empty if it does."""
    noise, kl = float(np.median(measured.ratio)), float(np.sort(measured.kl)[:-1].mean())
    if abs(measured.scale - 1) > MAX_SCALE_ERROR:
        return f"our logits are {measured.scale:.3f} times llama.cpp's"
    if noise > MAX_NOISE:
        return f"noise is {noise:.2f} of the spread of the candidates, more than {MAX_NOISE:g}"
    if kl > MAX_MEAN_KL:
        return f"mean KL divergence is {kl:.3f} nats without the worst step, more than {MAX_MEAN_KL:g}"
    if abs(log_ratio) > max(MAX_LOG_RATIO, SIGMAS * error):
        return f"perplexity is {math.exp(log_ratio):.3f} of llama.cpp's, {abs(log_ratio) / error:.0f} standard errors"
    return ""
