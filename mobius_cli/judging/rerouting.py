"""A mixture of experts that differs from llama.cpp: is it one choice of an expert that rounding made otherwise?

llama-server does not say which experts it takes. So near choices of our routers, those that the engines' noise may turn,
are made otherwise one by one, and the model runs again: only what then agrees with llama.cpp, by the rules for every
other model, is explained. A mistake in the weights is not, since no other choice gives llama.cpp's numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mobius_cli.judging.compare import RouterChoice, Verdict
from mobius_cli.judging.measure import Floats, Measured, Ours, Theirs, measure
from mobius_cli.judging.reference import PromptReference
from mobius_cli.judging.routing import Alternative, Forced, Routing, near_choices

MOST_RUNS = 64  # passes over a prompt with its answer
LEAST_GAIN = 0.2  # mean logarithm by which a choice makes the steps behind it quieter; honest ones above 0.5
_LEAST_NOISE = 1e-9  # nats

Judge = Callable[..., Verdict]  # compare or compare_exact
Run = Callable[[Forced], tuple[NDArray[np.float32], Sequence[Routing]]]


@dataclass(frozen=True, eq=False)
class _Pass:
    """A run with some choices made otherwise; `noise` relative to the deviation of our logits over the vocabulary."""

    chosen: tuple[Alternative, ...]
    routings: Sequence[Routing]
    verdict: Verdict
    measured: Measured
    noise: float

    @property
    def forced(self) -> Forced:
        return {(a.router, a.position): a.experts for a in self.chosen}

    @property
    def explained(self) -> bool:
        """Whether all is said: each choice was near, by the noise that is left."""
        return self.verdict.kind != "diverged" and all(a.margin <= a.limit(self.noise) for a in self.chosen)


def reroute(prompt: PromptReference, verdict: Verdict, judge: Judge, run: Run) -> Verdict:
    """What becomes of a `verdict` of "diverged": a near-tie where other near choices of experts explain it.

    `run` gives logits [steps, vocabulary] and what each router did at all positions. Raises ValueError if their
    shapes do not fit.
    """
    search = _Search(prompt, judge, run)
    found = search.best()
    if found is not None and found.chosen and found.explained:
        choices = tuple(
            RouterChoice(a.layer, a.position, a.dropped, a.added, a.margin, a.limit(found.noise)) for a in found.chosen
        )
        return replace(found.verdict, kind="near-tie", choices=choices)
    if search.runs < 2:
        return verdict
    tried = f"{search.runs - 1} near choice(s) of experts were made otherwise, which does not explain it"
    return replace(verdict, reason=f"{verdict.reason}; {tried}")


class _Search:
    """Takes the first near choice that makes the steps behind it quieter, and goes on from there; `runs` so far."""

    def __init__(self, prompt: PromptReference, judge: Judge, run: Run) -> None:
        self.runs = 0
        self._prompt, self._judge, self._run = prompt, judge, run
        self._theirs = Theirs.of(prompt.tokens, prompt.top_ids, prompt.top_logprobs)
        self._first = len(prompt.prompt_ids) - 1  # position of the first step

    def best(self) -> _Pass | None:
        """What explains it, or as far as it came; None if our logits cannot be measured."""
        now = self._passed(())
        while now is not None and not now.explained and (better := self._better(now)) is not None:
            now = better
        return now

    def _better(self, now: _Pass) -> _Pass | None:
        for choice in sorted(near_choices(now.routings, now.noise, now.forced), key=lambda a: self._rank(a, now)):
            if self.runs >= MOST_RUNS:
                return None
            tried = self._passed((*now.chosen, choice))
            if tried is not None and choice.margin <= choice.limit(tried.noise) and self._helps(choice, now, tried):
                return tried
        return None

    def _passed(self, chosen: tuple[Alternative, ...]) -> _Pass | None:
        self.runs += 1
        logits, routings = self._run({(a.router, a.position): a.experts for a in chosen})
        ours = Ours.of(self._theirs, logits)
        if isinstance(ours, str):
            return None
        measured = measure(self._theirs, ours)
        verdict = self._judge(self._prompt.tokens, self._prompt.top_ids, self._prompt.top_logprobs, logits)
        spread = float(np.median(logits.std(axis=1, dtype=np.float64)))
        return _Pass(chosen, routings, verdict, measured, measured.noise / spread if spread else 0.0)

    def _rank(self, choice: Alternative, now: _Pass) -> float:
        """The nearest choices at the noisiest steps first; of a prompt's positions no step says anything."""
        noise, step = _noise(now), choice.position - self._first
        louder = noise[step] / np.median(noise) if step >= 0 else 1.0
        return choice.margin / max(choice.sensitivity, _LEAST_NOISE) / float(louder)

    def _helps(self, choice: Alternative, before: _Pass, after: _Pass) -> bool:
        behind = slice(max(0, choice.position - self._first), None)
        return float(np.log(_noise(before) / _noise(after))[behind].mean()) > LEAST_GAIN


def _noise(one: _Pass) -> Floats:
    return np.maximum(one.measured.step_noise, _LEAST_NOISE)
