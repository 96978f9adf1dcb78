"""Near choices of a router, of scores that are made by hand."""

import numpy as np
import pytest

from converters.graph.routers import RouterRecord
from mobius_cli.judging.routing import SIGMAS, Alternative, Routing, near_choices

NOISE = 0.01


def routing(products, *, kind="none", bias=0.0, used=2, groups=1, used_groups=1) -> Routing:
    """What a router does with products [positions, experts]."""
    products = np.asarray(products, np.float32)
    scores = {
        "none": products,
        "softmax": np.exp(products) / np.exp(products).sum(axis=1, keepdims=True),
        "sigmoid": 1 / (1 + np.exp(-products)),
    }[kind]
    choice = (scores + np.asarray(bias)).astype(np.float32)
    opened = choice
    if groups > 1:
        grouped = choice.reshape(len(choice), groups, -1)
        sums = np.sort(grouped, axis=2)[:, :, -2:].sum(axis=2)
        closed = np.argsort(-sums, axis=1)[:, used_groups:]
        for row, numbers in enumerate(closed):
            grouped[row, numbers] = -np.inf
        opened, choice = grouped.reshape(choice.shape), (scores + np.asarray(bias)).astype(np.float32)
    experts = np.argsort(-opened, axis=1)[:, :used]
    names = ("products", "products" if kind == "none" else "scores", "choice", "experts")
    record = RouterRecord(3, products.shape[1], used, groups, used_groups, *names)
    return Routing(record, products, scores, choice, experts)


def changes(found: list[Alternative]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(a.dropped, a.added) for a in found]


def test_experts_that_noise_exchanges():
    row = np.array([2.0, 1.0, 0.99, -1.0, 0.5])
    (found,) = near_choices([routing([row, [3, 2, 1, 0, -1]])], NOISE, {})
    assert (found.router, found.layer, found.position) == (0, 3, 0)
    assert (found.dropped, found.added, found.experts) == ((1,), (2,), (0, 2))
    assert found.margin == pytest.approx(0.01, rel=1e-4)
    assert found.limit(NOISE) == pytest.approx(SIGMAS * NOISE * row.std() * 2**0.5, rel=1e-4)
    least = found.margin / SIGMAS / row.std() / 2**0.5
    assert near_choices([routing([row])], least * 1.01, {}) and not near_choices([routing([row])], least * 0.99, {})


@pytest.mark.parametrize("kind", ["softmax", "sigmoid"])
def test_scores_move_as_their_slope(kind):
    """Scores far from products: what counts is what noise of the products does to them."""
    row = np.array([[-3.0, -3.1, -3.12, -6.0]])
    moved = [routing(np.add(row, [[0, e, -e, 0]]), kind=kind).choice[0] for e in (0.0, 1e-3)]
    slope = (moved[1][1] - moved[1][2] - moved[0][1] + moved[0][2]) / 2e-3
    (found,) = near_choices([routing(row, kind=kind)], NOISE, {})
    assert changes([found]) == [((1,), (2,))]
    assert found.sensitivity == pytest.approx(slope * row.std() * 2**0.5, rel=0.6)


def test_what_is_added_for_the_choice_counts():
    row = [[2.0, 1.0, 0.0, -1.0]]
    assert not near_choices([routing(row, kind="sigmoid")], NOISE, {})
    bias = [0, 0, 1 / (1 + np.exp(-1.0)) - 0.5 - 1e-3, 0]
    assert changes(near_choices([routing(row, kind="sigmoid", bias=bias)], NOISE, {})) == [((1,), (2,))]


def test_closed_groups_are_not_near_but_groups_are():
    """Expert 4 is as good as expert 1, in a group that is closed by a little: it comes with its neighbour or not."""
    row = [[2.0, 1.0, -3.0, -3.0, 1.001, 1.999 - 0.004]]
    found = near_choices([routing(row, groups=3, used_groups=1)], NOISE, {})
    assert changes(found) == [((0, 1), (4, 5))]
    assert found[0].margin == pytest.approx(0.004, rel=1e-2)
    assert not near_choices([routing(row, groups=3, used_groups=2, used=4)], NOISE, {})


def test_where_something_is_forced_nothing_is_near():
    near = [[2.0, 1.0, 0.99, -1.0]] * 3
    both = [routing(near), routing(near)]
    found = near_choices(both, NOISE, {(0, 1): (0, 2)})
    assert [(a.router, a.position) for a in found] == [(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert [(a.router, a.position) for a in near_choices(both, NOISE, {}, 2)] == [(0, 2), (1, 2)]
