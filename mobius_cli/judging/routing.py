"""Choices of experts that a small change of a router's scores would make otherwise.

A router is a product like the head, of a normed hidden state: noise that moves the logits by a part of their deviation
over the vocabulary moves a router's products by that part of theirs over the experts. (Behind all layers that is more
than before them.) So what two engines' logits say measures the noise of routers that only one of them shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from converters.graph.routers import RouterRecord
from mobius_cli.judging.measure import Floats, Ints

SIGMAS = 4.0  # of the difference of two scores, as of that of two candidates
Forced = Mapping[tuple[int, int], tuple[int, ...]]  # (router, position) -> the experts that are taken there


@dataclass(frozen=True, eq=False)
class Routing:
    """What one router did over a sequence: `products`, `scores`, `choice` [positions, count], `experts` [.., used]."""

    record: RouterRecord
    products: NDArray[np.float32]
    scores: NDArray[np.float32]
    choice: NDArray[np.float32]
    experts: Ints

    @property
    def sensitivity(self) -> Floats:
        """By how much a score moves, [positions, count], with noise of 1 of the products' deviation."""
        slope = np.ones_like(self.scores, np.float64)
        if self.record.scores != self.record.products:  # softmax and sigmoid: both have this slope
            wide = self.scores.astype(np.float64)
            slope = wide * (1 - wide)
        spread = self.products.std(axis=1, dtype=np.float64)
        found: Floats = slope * spread[:, None]
        return found


@dataclass(frozen=True)
class Alternative:
    """Another choice at one position: `experts` are all that are taken then, `added` in place of `dropped`.

    `margin`: by how much the scores prefer the choice that was made. `sensitivity`: the deviation of that margin with
    noise of 1, relative to the router's products.
    """

    router: int
    layer: int
    position: int
    dropped: tuple[int, ...]
    added: tuple[int, ...]
    experts: tuple[int, ...]
    margin: float
    sensitivity: float

    @property
    def nearness(self) -> float:
        """The relative noise of which the margin is one deviation."""
        return self.margin / self.sensitivity if self.sensitivity else float(self.margin > 0)

    def limit(self, noise: float) -> float:
        """The largest margin that relative noise explains."""
        return SIGMAS * noise * self.sensitivity


def near_choices(
    routings: Sequence[Routing], noise: float, forced: Forced, only: int | None = None
) -> list[Alternative]:
    """All choices that relative `noise` explains, where nothing is forced yet; at position `only`, if given."""
    found: list[Alternative] = []
    for index, routing in enumerate(routings):
        sensitivity = routing.sensitivity
        for position in range(len(routing.experts)) if only is None else (only,):
            if (index, position) not in forced:
                found += _experts(index, routing, position, sensitivity[position], noise)
                if routing.record.groups > 1:
                    around = _groups(index, routing, position, sensitivity[position])
                    found += [a for a in around if a.margin <= a.limit(noise)]
    return found


def _experts(index: int, routing: Routing, position: int, sensitivity: Floats, noise: float) -> Iterator[Alternative]:
    """One expert for another, both of open groups."""
    choice, taken = routing.choice[position].astype(np.float64), routing.experts[position]
    others = np.setdiff1d(np.flatnonzero(_opened(routing, position)), taken)
    margins = choice[taken][:, None] - choice[others]
    deviations = np.hypot(sensitivity[taken][:, None], sensitivity[others])
    for a, b in zip(*np.nonzero(margins <= SIGMAS * noise * deviations), strict=True):
        experts = tuple(int(others[b]) if i == a else int(e) for i, e in enumerate(taken))
        margin, deviation = float(margins[a, b]), float(deviations[a, b])
        yield _alternative(index, routing, position, experts, margin, deviation)


def _groups(index: int, routing: Routing, position: int, sensitivity: Floats) -> Iterator[Alternative]:
    """One group for another: the largest scores of the groups that are open then."""
    record, choice = routing.record, routing.choice[position].astype(np.float64)
    opened = _opened(routing, position)
    best = np.argsort(-choice.reshape(record.groups, -1), axis=1, kind="stable")[:, :2]
    best = best + np.arange(record.groups)[:, None] * (record.count // record.groups)
    sums, deviations = choice[best].sum(axis=1), np.sqrt((sensitivity[best] ** 2).sum(axis=1))
    group = np.arange(record.count) // (record.count // record.groups)
    first = np.array([opened[group == g].all() for g in range(record.groups)])
    for a in np.flatnonzero(first):
        for b in np.flatnonzero(~first):
            then = np.where((opened & (group != a)) | (group == b), choice, -np.inf)
            experts = tuple(np.argsort(-then, kind="stable")[: record.used].tolist())
            if set(experts) != set(routing.experts[position].tolist()):
                margin, deviation = float(sums[a] - sums[b]), float(np.hypot(deviations[a], deviations[b]))
                yield _alternative(index, routing, position, experts, margin, deviation)


def _opened(routing: Routing, position: int) -> NDArray[np.bool_]:
    """Which experts are of groups that are open."""
    record = routing.record
    if record.groups == 1:
        return np.ones(record.count, np.bool_)
    grouped = routing.choice[position].astype(np.float64).reshape(record.groups, -1)
    sums = np.sort(grouped, axis=1)[:, -2:].sum(axis=1)
    chosen = np.argsort(-sums, kind="stable")[: record.used_groups]
    return np.repeat(np.isin(np.arange(record.groups), chosen), record.count // record.groups)


def _alternative(
    index: int, routing: Routing, position: int, experts: tuple[int, ...], margin: float, sensitivity: float
) -> Alternative:
    before = routing.experts[position].tolist()
    dropped, added = tuple(sorted({*before} - {*experts})), tuple(sorted({*experts} - {*before}))
    return Alternative(index, routing.record.layer, position, dropped, added, experts, max(margin, 0.0), sensitivity)
