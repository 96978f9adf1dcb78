"""A mixture of experts that differs from llama.cpp: did rounding make a few choices of experts otherwise?

llama-server does not say which experts it takes. So near choices of our routers, which the engines' noise may turn,
are made otherwise, and the model runs again. Only what then agrees with llama.cpp, by the rules for any other
model, is explained. A mistake in the weights is not, since no other choice gives llama.cpp's numbers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mobius_cli.judging.compare import RouterChoice, Verdict
from mobius_cli.judging.measure import Floats, Measured, Ours, Theirs, measure
from mobius_cli.judging.reference import PromptReference
from mobius_cli.judging.routing import Alternative, Forced, Routing, near_choices

MOST_RUNS = 96  # passes over a prompt with its answer
# Logarithms of how much quieter a choice makes its own step (nothing else, in the last layer), or all behind it.
LEAST_OWN_GAIN = 0.7
LEAST_GAIN = 0.2
LONGEST_CHAIN, MOST_BEHIND = 3, 3  # choices at one position, each of so many behind the one before
LOUD = 2.0  # noise of a step over the median of all
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


def reroute(prompt: PromptReference, verdict: Verdict, judge: Judge, run: Run, most_noise: float = math.inf) -> Verdict:
    """What becomes of a `verdict` of "diverged": a near-tie where other near choices of experts explain it.

    `run` gives logits [steps, vocabulary] and what each router did at all positions. `most_noise`, relative, excuses
    choices, however much there is. Raises ValueError if shapes do not fit.
    """
    search = _Search(prompt, judge, run, most_noise)
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
    """Goes from near choices to more of them, as long as they make steps quieter; `runs` so far."""

    def __init__(self, prompt: PromptReference, judge: Judge, run: Run, most_noise: float) -> None:
        self.runs, self._most_noise = 0, most_noise
        self._prompt, self._judge, self._run = prompt, judge, run
        self._theirs = Theirs.of(prompt.tokens, prompt.top_ids, prompt.top_logprobs)
        self._first = len(prompt.prompt_ids) - 1  # position of the first step
        self._seen: set[tuple[int, int, tuple[int, ...]]] = set()

    def best(self) -> _Pass | None:
        """What explains it, or as far as it came; None if our logits cannot be measured."""
        now = self._passed(())
        while now is not None and not now.explained:
            better = self._together(now) or self._in_chains(now) or self._in_prompt(now)
            if better is None:
                return now
            now = better
        return now

    def _together(self, now: _Pass) -> _Pass | None:
        """One choice at each loud step at once, the nearest that was not tried; those that help their steps stay."""
        while picked := self._at_loud_steps(now):
            tried = self._passed((*now.chosen, *picked))
            if tried is None:
                return None
            kept = [c for c in picked if self._own_gain(c, now, tried) > LEAST_OWN_GAIN]
            if kept:
                better = tried if len(kept) == len(picked) else self._passed((*now.chosen, *kept))
                if better is not None and all(self._helps(c, now, better) for c in kept):
                    return better
        return None

    def _in_chains(self, now: _Pass) -> _Pass | None:
        """A choice at a loud step, and near ones behind it: another expert changes what later routers read."""
        loud = [c for c in self._near(now) if self._loudness(c, now) >= LOUD]
        for first in sorted(loud, key=lambda c: (-self._loudness(c, now), c.nearness)):
            found = self._behind(now, (first,))
            if found is not None:
                return found
        return None

    def _behind(self, now: _Pass, chain: tuple[Alternative, ...]) -> _Pass | None:
        """The chain, or the first longer one that helps."""
        tried, last = self._passed((*now.chosen, *chain)), chain[-1]
        if tried is None or all(self._helps(c, now, tried) for c in chain):
            return tried
        if len(chain) < LONGEST_CHAIN:
            near = near_choices(tried.routings, now.noise, tried.forced, last.position)
            later = sorted((c for c in near if c.router > last.router), key=lambda c: c.nearness)
            for choice in later[:MOST_BEHIND]:
                found = self._behind(now, (*chain, choice))
                if found is not None:
                    return found
        return None

    def _in_prompt(self, now: _Pass) -> _Pass | None:
        """The first choice at the prompt's positions, of which no step tells, that helps what is behind it."""
        of_prompt = [c for c in self._near(now) if c.position < self._first]
        for choice in sorted(of_prompt, key=lambda c: c.nearness):
            tried = self._passed((*now.chosen, choice))
            if tried is not None and self._helps(choice, now, tried):
                return tried
        return None

    def _at_loud_steps(self, now: _Pass) -> list[Alternative]:
        nearest: dict[int, Alternative] = {}
        for choice in sorted(self._near(now), key=lambda c: c.nearness):
            key = (choice.router, choice.position, choice.experts)
            if choice.position not in nearest and key not in self._seen and self._loudness(choice, now) >= LOUD:
                nearest[choice.position] = choice
                self._seen.add(key)
        return [*nearest.values()]

    def _near(self, now: _Pass) -> list[Alternative]:
        return near_choices(now.routings, now.noise, now.forced) if self.runs < MOST_RUNS else []

    def _passed(self, chosen: tuple[Alternative, ...]) -> _Pass | None:
        if self.runs >= MOST_RUNS:
            return None
        self.runs += 1
        logits, routings = self._run({(a.router, a.position): a.experts for a in chosen})
        ours = Ours.of(self._theirs, logits)
        if isinstance(ours, str):
            return None
        measured = measure(self._theirs, ours)
        verdict = self._judge(self._prompt.tokens, self._prompt.top_ids, self._prompt.top_logprobs, logits)
        spread = float(np.median(logits.std(axis=1, dtype=np.float64)))
        noise = measured.noise / spread if spread else 0.0
        return _Pass(chosen, routings, verdict, measured, min(noise, self._most_noise))

    def _loudness(self, choice: Alternative, now: _Pass) -> float:
        """Noise of its step over that of the others; 1 for the prompt's positions, of which no step says anything."""
        noise, step = _noise(now), choice.position - self._first
        return float(noise[step] / np.median(noise)) if step >= 0 else 1.0

    def _own_gain(self, choice: Alternative, before: _Pass, after: _Pass) -> float:
        step = choice.position - self._first
        return float(np.log(_noise(before)[step] / _noise(after)[step])) if step >= 0 else 0.0

    def _helps(self, choice: Alternative, before: _Pass, after: _Pass) -> bool:
        behind = slice(max(0, choice.position - self._first), None)
        gain = float(np.log(_noise(before) / _noise(after))[behind].mean())
        least = 0.0 if self._own_gain(choice, before, after) > LEAST_OWN_GAIN else LEAST_GAIN
        return gain > least and choice.margin <= choice.limit(after.noise)


def _noise(one: _Pass) -> Floats:
    return np.maximum(one.measured.step_noise, _LEAST_NOISE)
