"""Another choice of an expert explains a difference, or nothing does: mixtures that are tables of numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

from converters.graph.routers import RouterRecord
from mobius_cli.judging import rerouting
from mobius_cli.judging.compare import compare, compare_exact
from mobius_cli.judging.reference import PromptReference
from mobius_cli.judging.rerouting import reroute
from mobius_cli.judging.routing import Forced, Routing

PROMPT, STEPS, VOCAB, COUNT, USED, ROUTERS = 8, 24, 128, 6, 2, 3
POSITIONS, FIRST = PROMPT + STEPS - 1, PROMPT - 1
NAMES = ("products", "products", "products", "experts")
RECORDS = [RouterRecord(layer, COUNT, USED, 1, 1, *NAMES) for layer in (1, 2, 4)]


@dataclass
class Mixture:
    """Logits are a sum of what the experts of every router say; a choice also enters all later steps, by `echo`.

    `near` lowers the third expert's distance at (router, position) to the given one: its scores are otherwise far
    apart. A choice of router 0 turns what router 1 sees, as in a model. `seen` are the choices of each run.
    """

    near: Mapping[tuple[int, int], float] = field(default_factory=dict)
    noise: float = 0.0
    echo: float = 0.1
    scale: float = 1.0
    seen: list[Forced] = field(default_factory=list)

    def run(self, forced: Forced) -> tuple[np.ndarray, list[Routing]]:
        self.seen.append(forced)
        rng = np.random.default_rng(1)
        said = rng.normal(0, 2, (ROUTERS, POSITIONS, COUNT, VOCAB))
        said[0, :, 0] *= self.scale
        order = rng.permuted(np.tile(np.arange(COUNT), (ROUTERS, POSITIONS, 1)), axis=2)
        logits, routings, turned = np.zeros((POSITIONS, VOCAB)), [], np.zeros(POSITIONS, np.bool_)
        for router in range(ROUTERS):
            products = np.zeros((POSITIONS, COUNT))
            for position in range(POSITIONS):
                ranked = np.roll(order[router, position], int(turned[position]) if router == 1 else 0)
                products[position, ranked] = [3.0, 2.0, 1.0, -1.0, -2.0, -3.0]
                if (router, position) in self.near and not (router == 1 and not turned[position]):
                    products[position, ranked[2]] = 2.0 - self.near[router, position]
            own = np.argsort(-products, axis=1)[:, :USED]
            experts = own.copy()
            for (index, position), taken in forced.items():
                if index == router:
                    experts[position] = taken
            turned |= (np.sort(experts) != np.sort(own)).any(axis=1) & (router == 0)
            made = np.take_along_axis(said[router], experts[:, :, None], axis=1).sum(axis=1)
            logits += made + self.echo * (np.cumsum(made, axis=0) - made) / POSITIONS**0.5
            routings.append(Routing(RECORDS[router], *[products.astype(np.float32)] * 3, experts))
        logits += np.random.default_rng(2).normal(0, self.noise, logits.shape)
        return logits[FIRST:].astype(np.float32), routings


def exchanged(mixture: Mixture, *places: tuple[int, int]) -> Forced:
    """At each place the third expert for the second, as llama.cpp has it; one after another."""
    forced: dict[tuple[int, int], tuple[int, ...]] = {}
    for router, position in places:
        ranked = np.argsort(-mixture.run(forced)[1][router].choice[position])
        forced[router, position] = (int(ranked[0]), int(ranked[2]))
    return forced


def said(logits: np.ndarray) -> PromptReference:
    """As llama.cpp would report these logits."""
    wide = logits.astype(np.float64)
    logprobs = wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))
    ids = np.argsort(-logprobs, axis=1)[:, :32]
    return PromptReference("x", [1] * PROMPT, ids[:, 0].tolist(), ids, np.take_along_axis(logprobs, ids, 1))


def judged(ours: Mixture, prompt: PromptReference, judge=compare):
    verdict = judge(prompt.tokens, prompt.top_ids, prompt.top_logprobs, ours.run({})[0])
    assert verdict.kind == "diverged"
    ours.seen.clear()
    return reroute(prompt, verdict, judge, ours.run)


def places(verdict) -> set[tuple[int, int]]:
    return {(c.layer, c.position) for c in verdict.choices}


@pytest.mark.parametrize(
    "wanted",
    [[(0, 20)], [(2, 25)], [(2, POSITIONS - 1)], [(0, 12), (2, 19), (2, 28)], [(0, 20), (1, 20)]],
    ids=["one", "last layer", "last step", "several", "one behind another"],
)
def test_choices_that_explain_it(wanted: list[tuple[int, int]]) -> None:
    near = dict.fromkeys(wanted, 0.01) | {(2, 15): 0.012, (0, 3): 0.012}
    theirs = Mixture(near, noise=0.03)
    ours = Mixture(near)
    found = judged(ours, said(theirs.run(exchanged(theirs, *wanted))[0]))
    assert found.kind == "near-tie" and not found.reason
    assert places(found) == {(RECORDS[router].layer, position) for router, position in wanted}
    for choice in found.choices:
        assert 0.0099 < choice.margin < 0.0101 <= choice.limit < 0.2
        assert len(choice.added) == len(choice.dropped) == 1
    assert found.noise == pytest.approx(0.03, rel=0.3)
    assert len(ours.seen) < 12


def test_a_choice_in_the_prompt_shows_in_all_steps() -> None:
    near = {(0, 4): 0.001, (2, 2): 0.0012}
    theirs = Mixture(near, noise=0.005, echo=2.0)
    found = judged(Mixture(near, echo=2.0), said(theirs.run(exchanged(theirs, (0, 4)))[0]), compare_exact)
    assert found.kind == "near-tie" and places(found) == {(1, 4)}


def test_a_choice_that_is_not_near_explains_nothing() -> None:
    theirs = Mixture({(2, 20): 0.5}, noise=0.03)
    found = judged(Mixture({(2, 20): 0.5}), said(theirs.run(exchanged(theirs, (2, 20)))[0]))
    assert found.kind == "diverged" and not found.choices


def test_what_no_choice_explains_diverges() -> None:
    """An expert that says half as much again, and choices that are near but right."""
    near = {(2, position): 0.01 for position in range(0, POSITIONS, 3)}
    found = judged(Mixture(near, noise=0.03, scale=1.5), said(Mixture(near).run({})[0]))
    assert found.kind == "diverged" and not found.choices
    assert "near choice(s) of experts were made otherwise, which does not explain it" in found.reason


def test_passes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rerouting, "MOST_RUNS", 20)
    near = {(router, position): 0.001 for router in (0, 2) for position in range(POSITIONS)}
    ours = Mixture(near, noise=0.3, scale=3)
    found = judged(ours, said(Mixture(near).run({})[0]))
    assert found.kind == "diverged" and len(ours.seen) == 20


def test_logits_that_are_no_numbers_stay_what_they_are() -> None:
    ours, prompt = Mixture(), said(Mixture().run({})[0])
    verdict = compare(prompt.tokens, prompt.top_ids, prompt.top_logprobs, np.full((STEPS, VOCAB), np.nan))
    assert reroute(prompt, verdict, compare, lambda _: (np.full((STEPS, VOCAB), np.nan), ours.run({})[1])) is verdict
