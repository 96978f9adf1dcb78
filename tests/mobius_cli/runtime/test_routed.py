"""Routers laid open: what they chose and other choices, in folders whose states grow or stay in place."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.folder.manifest import read_manifest
from mobius_cli.judging.routing import Routing
from mobius_cli.runtime.routed import RoutedModel
from mobius_cli.runtime.session import OnnxModel
from tests.support.any_arch import Case, write_arch
from tests.support.arch_cases import deepseek2, gpt_oss, qwen_moe
from tests.support.cli import mobius

IDS = [5, 9, 100, 7, 250, 31, 8, 77, 12, 300]
SMALL: dict[str, Any] = {"embedding_length": 64, "feed_forward_length": 64, "expert_feed_forward_length": 32}
CASES = {
    "softmax": Case("qwen3moe", keys={**qwen_moe.KEYS, **SMALL}, values=qwen_moe.SPREAD),
    "groups": Case(
        "deepseek2",
        keys={**deepseek2.SMALL, **deepseek2.V3, **SMALL, "expert_shared_count": 1},
        values=qwen_moe.SPREAD,
    ),
    "of chosen": Case("gpt-oss", keys={**gpt_oss.KEYS, **SMALL}, values=gpt_oss.VALUES),
}
OPEN: dict[str, Any] = {"ep": None, "threads": 1, "accuracy_level": None}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each case as a folder of `cpu`, and one of `onnx`."""
    base = tmp_path_factory.mktemp("routed")
    for name, case in CASES.items():
        write_arch(base / f"{name}.gguf", case)
        for ep in ("cpu", "onnx") if name == "groups" else ("cpu",):
            done = mobius("convert", base / f"{name}.gguf", "-o", base / f"{name} {ep}", "--ep", ep)
            assert done.exit_code == 0, done.stderr
    return base


@pytest.mark.parametrize("name", ["softmax cpu", "groups cpu", "groups onnx", "of chosen cpu"])
def test_a_pass_and_other_choices(folders: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = RoutedModel(folders / name, **OPEN)
    logits, routings = model.route(IDS, 2, {})
    np.testing.assert_allclose(logits, OnnxModel(folders / name, threads=1).logits(IDS, 2), atol=1e-5)
    for routing in routings:
        assert_chosen(routing)
    own = {(r, p): tuple(made.experts[p]) for r, made in enumerate(routings) for p in range(len(IDS))}
    np.testing.assert_array_equal(model.route(IDS, 2, own)[0], logits)
    others = tuple(np.argsort(routings[1].choice[6])[: routings[1].record.used].tolist())
    changed, then = model.route(IDS, 2, {(1, 6): others})
    assert tuple(then[1].experts[6]) == others
    np.testing.assert_array_equal(changed[:4], logits[:4])  # nothing before it
    assert np.abs(changed[4] - logits[4]).max() > 0.05
    monkeypatch.setattr("mobius_cli.runtime.routed.CHUNK", 3)  # pieces, and a choice in the last one
    np.testing.assert_allclose(model.route(IDS, 2, {(1, 6): others})[0], changed, atol=1e-4)


def assert_chosen(routing: Routing) -> None:
    """By the scores that it shows: the largest of the open groups."""
    record = routing.record
    assert routing.products.shape == routing.scores.shape == routing.choice.shape == (len(IDS), record.count)
    for products, scores, choice, experts in zip(
        routing.products, routing.scores, routing.choice, routing.experts, strict=True
    ):
        if record.groups > 1:
            np.testing.assert_allclose(scores, 1 / (1 + np.exp(-products)), atol=1e-6)
            groups = choice.reshape(record.groups, -1)
            sums = np.sort(groups, axis=1)[:, -2:].sum(axis=1)
            closed = np.repeat(sums < np.sort(sums)[-record.used_groups], groups.shape[1])
            choice = np.where(closed, -np.inf, choice)
            assert np.abs(routing.choice - routing.scores).max() > 1e-3  # its bias
        assert set(experts) == set(np.argsort(-choice)[: record.used])


def test_what_the_manifest_says(folders: Path) -> None:
    routers = {name: read_manifest(folders / f"{name} cpu").routers for name in CASES}
    assert [r.layer for r in routers["softmax"]] == [0, 1]
    assert [(r.layer, r.count, r.used, r.groups, r.used_groups) for r in routers["groups"]] == [
        (1, 12, 3, 4, 2), (2, 12, 3, 4, 2),
    ]  # fmt: skip
    assert all(r.products == r.scores == r.choice for r in routers["of chosen"])
