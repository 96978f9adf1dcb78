"""How far two engines' logits lie apart over the same greedy steps: numbers only, no judgement.

Only differences between candidates of one step are used for noise. Greedy decoding depends on nothing else, and
the normalizer of a log-softmax is one number per step that also collects what thousands of improbable tokens do.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_NEGLIGIBLE = 1e-6  # probability; llama.cpp's float32 softmax sums to 1 only within some 1e-4
_UNDERFLOW = -1e4  # llama.cpp gives a huge negative logarithm where a probability underflowed to 0


@dataclass(frozen=True)
class Theirs:
    """llama.cpp's side: `tokens` [steps], candidate `ids` and natural `logprobs` [steps, top]."""

    tokens: Ints
    ids: Ints
    logprobs: Floats

    @classmethod
    def of(cls, tokens: ArrayLike, top_ids: ArrayLike, top_logprobs: ArrayLike) -> Self:
        """Check and convert. Raises ValueError if shapes do not fit or a token is not among its candidates."""
        theirs = cls(np.asarray(tokens, np.int64), np.asarray(top_ids, np.int64), np.asarray(top_logprobs, float))
        steps = len(theirs.tokens)
        if not steps or theirs.ids.shape != theirs.logprobs.shape or theirs.ids.shape[:1] != (steps,):
            raise ValueError(f"{steps} tokens, ids {theirs.ids.shape}, log-probabilities {theirs.logprobs.shape}")
        if not theirs.has(theirs.tokens).any(axis=1).all():
            raise ValueError("a token is not among its candidates")
        return theirs

    def has(self, tokens: Ints) -> Bools:
        """Where the candidates [steps, top] are `tokens` [steps]."""
        found: Bools = self.ids == tokens[:, None]
        return found


@dataclass(frozen=True)
class Ours:
    """Our side: `logprobs` [steps, top] of their candidates, argmax `tokens` [steps], its `margins` over theirs."""

    logprobs: Floats
    tokens: Ints
    margins: Floats

    @classmethod
    def of(cls, theirs: Theirs, logits: ArrayLike) -> "Ours | str":
        """From logits [steps, vocab]; a sentence instead if they cannot be measured. ValueError for wrong shapes."""
        values = np.asarray(logits)
        if values.ndim != 2 or len(values) != len(theirs.tokens):
            raise ValueError(f"logits {values.shape} for {len(theirs.tokens)} steps")
        if theirs.ids.max() >= values.shape[1]:
            return f"llama.cpp has a token {theirs.ids.max()}, our vocabulary only {values.shape[1]} tokens"
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            return f"our logits at step {int(np.argmin(finite))} are not finite"
        best = values.max(axis=1)
        theirs_here = np.take_along_axis(values, theirs.tokens[:, None], axis=1)[:, 0]
        candidates = np.take_along_axis(values, theirs.ids, axis=1).astype(np.float64)
        return cls(
            logprobs=candidates - np.array([_log_sum_exp(row) for row in values])[:, None],
            # float16 logits tie exactly now and then: then our argmax is theirs, whichever id is lower.
            tokens=np.where(theirs_here == best, theirs.tokens, values.argmax(axis=1)),
            margins=best.astype(np.float64) - theirs_here.astype(np.float64),
        )


@dataclass(frozen=True)
class Measured:
    """Per step [steps]: `agrees` (the argmax), `step_noise`, `spread`, `kl`; over all: `noise`, `scale`, `max_abs`.

    `step_noise` (nats): both engines' log-probabilities of the candidates, each centred, without the two tokens
    in dispute if the argmax differs (they were picked for lying far off); root mean square of the difference.
    `noise`: its median over the steps that agree, over all if none does. The median, since steps at which a
    mixture of experts picks another expert are rare and differ by an order of magnitude.
    `spread` (nats): standard deviation of their log-probabilities of the same candidates, without that of their
    token, which at sure steps lies far above all others. `ratio`, step noise over spread, hardly depends on the
    number of candidates or on the temperature.
    `kl` (nats): KL divergence, theirs from ours, over the candidates and all other tokens as one.
    `scale`: least-squares slope of our centred log-probabilities over theirs: 1 unless a factor is missing.
    `max_abs` (nats): largest difference of a candidate's log-probability, not centred.
    """

    agrees: Bools
    step_noise: Floats
    spread: Floats
    kl: Floats
    noise: float
    scale: float
    max_abs: float

    @property
    def ratio(self) -> Floats:
        """Step noise over spread [steps]; 0 where the candidates have no spread."""
        zeros = np.zeros_like(self.spread)
        return np.divide(self.step_noise, self.spread, out=zeros, where=self.spread > 0)


def measure(theirs: Theirs, ours: Ours) -> Measured:
    """Measure `ours` against `theirs`."""
    agrees = ours.tokens == theirs.tokens
    possible = theirs.logprobs > _UNDERFLOW
    disputed = theirs.has(theirs.tokens) | theirs.has(ours.tokens)
    used = possible & (agrees[:, None] | ~disputed)
    x, y = _centred(theirs.logprobs, used), _centred(ours.logprobs, used)
    step_noise = _rms(y - x, used)
    others = used & ~theirs.has(theirs.tokens)
    power = float((x**2).sum())
    return Measured(
        agrees=agrees,
        step_noise=step_noise,
        spread=_rms(_centred(theirs.logprobs, others), others),
        kl=_kl(theirs.logprobs, ours.logprobs),
        noise=float(np.median(step_noise[agrees] if agrees.any() else step_noise)),
        scale=float((x * y).sum()) / power if power > 0 else 1.0,
        max_abs=float(np.abs(ours.logprobs - theirs.logprobs)[possible].max()),
    )


def _log_sum_exp(row: NDArray[np.floating]) -> float:
    wide = row.astype(np.float32)
    top = wide.max()
    return float(top) + float(np.log(np.exp(wide - top).sum(dtype=np.float64)))


def _centred(values: Floats, used: Bools) -> Floats:
    kept = np.where(used, values, 0.0)
    means = kept.sum(axis=1) / np.maximum(used.sum(axis=1), 1)
    centred: Floats = np.where(used, values - means[:, None], 0.0)
    return centred


def _rms(values: Floats, used: Bools) -> Floats:
    mean: Floats = np.where(used, values**2, 0.0).sum(axis=1) / np.maximum(used.sum(axis=1), 1)
    return np.sqrt(mean)


def _kl(theirs: Floats, ours: Floats) -> Floats:
    p, q = np.exp(theirs), np.exp(ours)
    rest_p = np.maximum(1 - p.sum(axis=1), _NEGLIGIBLE)
    rest_q = np.maximum(1 - q.sum(axis=1), _NEGLIGIBLE)
    terms = np.where(p > 0, p * (theirs - ours), 0.0)
    divergence: Floats = terms.sum(axis=1) + rest_p * np.log(rest_p / rest_q)
    return divergence
