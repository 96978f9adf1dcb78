"""`mobius verify` of a mixture where rounding chose another expert: a tiny model that llama.cpp's part is played by."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.folder.manifest import read_manifest
from mobius_cli.commands.verify import experts
from mobius_cli.commands.verify.experts import explain_choices
from mobius_cli.commands.verify.report import print_report
from mobius_cli.judging.compare import RouterChoice, Verdict
from mobius_cli.judging.reference import PromptReference, Reference, Settings
from mobius_cli.judging.routing import Alternative, Forced, near_choices
from mobius_cli.output import Output
from mobius_cli.runtime.routed import RoutedModel
from tests.support.any_arch import Case, write_arch
from tests.support.arch_cases import qwen_moe
from tests.support.cli import mobius

PROMPT, STEPS, SPREAD = [5, 9, 100, 7, 250, 31], 24, 0.05  # SPREAD: how near a choice is searched for
SMALL = {"embedding_length": 64, "feed_forward_length": 64, "expert_feed_forward_length": 32}
CASE = Case("qwen3moe", keys={**qwen_moe.KEYS, **SMALL}, values=qwen_moe.SPREAD)
OPEN: dict[str, Any] = {"ep": None, "threads": 1, "accuracy_level": None}
DIVERGED = Verdict("diverged", STEPS, reason="something is wrong")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and another one with an expert that is larger by a tenth."""
    base = tmp_path_factory.mktemp("experts")
    down = qwen_moe.SPREAD | {"blk.1.ffn_down_exps": _larger_expert}
    for name, case in (("right", CASE), ("wrong", Case("qwen3moe", keys=CASE.keys, values=down))):
        write_arch(base / f"{name}.gguf", case)
        assert mobius("convert", base / f"{name}.gguf", "-o", base / name, "--ep", "cpu").exit_code == 0
    return base


def _larger_expert(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    values = rng.standard_normal(shape) / np.sqrt(shape[-1])
    values[0] *= 1.1
    return values


def greedy(model: RoutedModel, forced: Forced) -> tuple[list[int], np.ndarray]:
    """Tokens and logits with some choices made otherwise."""
    tokens: list[int] = []
    while True:
        ids = [*PROMPT, *tokens]
        logits, _ = model.route(ids, len(PROMPT) - 1, {k: v for k, v in forced.items() if k[1] < len(ids)})
        tokens.append(int(logits[-1].argmax()))
        if len(tokens) == STEPS:
            return tokens, logits


def nearest(model: RoutedModel) -> Alternative:
    tokens, _ = greedy(model, {})
    _, routings = model.route([*PROMPT, *tokens[:-1]], 0, {})
    found = [a for a in near_choices(routings, SPREAD, {}) if a.position >= len(PROMPT)]
    return min(found, key=lambda a: a.nearness)


def reference(folder: Path, forced: Forced, noise: float) -> Reference:
    """As if llama.cpp had made these choices, and noise on its logits."""
    tokens, logits = greedy(RoutedModel(folder, **OPEN), forced)
    wide = logits + noise * logits.std() * np.random.default_rng(0).standard_normal(logits.shape)
    logprobs = wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))
    ids = np.argsort(-logprobs, axis=1)[:, :32]
    prompt = PromptReference("a prompt", PROMPT, tokens, ids, np.take_along_axis(logprobs, ids, 1))
    return Reference(read_manifest(folder).source[0], "b1", Settings(True, "f32", 1), [prompt])


def explained(folder: Path, known: Reference, verdict: Verdict = DIVERGED) -> Verdict:
    (found,) = explain_choices(folder, read_manifest(folder), known, [verdict], Output(), **OPEN)
    return found


def test_a_near_choice_is_found(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near = nearest(RoutedModel(folders / "right", **OPEN))
    known = reference(folders / "right", {(near.router, near.position): near.experts}, near.nearness / 3)
    monkeypatch.setattr(experts, "FLOAT32_NOISE", near.nearness / 10)
    assert explained(folders / "right", known) == DIVERGED  # more noise than float32 has
    monkeypatch.setattr(experts, "FLOAT32_NOISE", math.inf)
    found = explained(folders / "right", known)
    assert found.kind == "near-tie" and not found.reason
    (choice,) = found.choices
    assert (choice.layer, choice.position) == (near.layer, near.position)
    assert (choice.added, choice.dropped) == (near.added, near.dropped)
    assert choice.margin == pytest.approx(near.margin, rel=0.05) and choice.margin < choice.limit


def test_with_less_noise_the_same_choice_is_not_near(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experts, "FLOAT32_NOISE", math.inf)
    near = nearest(RoutedModel(folders / "right", **OPEN))
    known = reference(folders / "right", {(near.router, near.position): near.experts}, near.nearness / 20)
    assert explained(folders / "right", known) == DIVERGED


def test_a_wrong_expert_stays_diverged(folders: Path) -> None:
    found = explained(folders / "wrong", reference(folders / "right", {}, 1e-3))
    assert found.kind == "diverged" and found.reason.startswith("something is wrong") and not found.choices


def test_only_what_diverged_is_run_again(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mobius_cli.runtime.routed.RoutedModel", None)
    same = Verdict("near-tie", STEPS)
    nothing = Reference(read_manifest(folders / "right").source[0], "b1", Settings(False, "f16", 1), [])
    assert explained(folders / "right", nothing, same) is same


def test_what_is_printed(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    choices = tuple(RouterChoice(3, position, (4, 5), (1, 2), 0.00125, 0.0271) for position in (2, 7, 8, 9))
    verdict = Verdict("near-tie", 4, agreement=1.0, noise=0.0123, choices=choices)
    p = PromptReference("a prompt", PROMPT, [1], np.array([[1]]), np.array([[-0.5]]))
    known = Reference(read_manifest(folders / "right").source[0], "b1", Settings(False, "f16", 1), [p])
    for output in (Output(), Output(verbose=True), Output(as_json=True)):
        print_report(folders, known, [], [verdict], [None], None, None, output)  # type: ignore[arg-type]
    few, every = capsys.readouterr().out.split("PASS", 1)
    assert "near-tie in layer 3" in few
    first = "'a prompt': with expert 1 and 2 for 4 and 5 in layer 3 at token 2 of the prompt"
    assert f"{first} (scores 0.0013 apart, noise explains 0.027)\n" in few
    assert "in layer 3 at token 2 (scores" in few and "at token 3 (" not in few
    end = ", our logits are llama.cpp's up to noise of 0.0123\n"
    assert f"'a prompt': with 2 more such choices (-v shows them){end}" in few
    assert f"in layer 3 at token 4 (scores 0.0013 apart, noise explains 0.027){end}" in every
    (prompt,) = json.loads(every[every.index("\n{") :])["prompts"]
    assert prompt["choices"][1] == {
        "layer": 3, "position": 7, "dropped": [4, 5], "added": [1, 2], "margin": 0.00125, "limit": 0.0271,
    }  # fmt: skip
