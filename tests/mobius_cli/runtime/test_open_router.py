"""Routers laid open where an operator chooses itself: the same choices, and others when they are forced."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime as ort

from converters.graph.onnx_file import write_graph
from converters.plan import Plan, make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import Target, choose_target
from mobius_cli.runtime.open_router import forced_input
from mobius_cli.runtime.patch import patched
from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.runner import F32, TinySession, prompt

IDS = prompt(20, 320)
FUSED = replace(choose_target("cuda"), norms_heads=False, dtype="float32")  # in which the CPU runs it
APART = replace(choose_target("cpu"), accuracy_level=0)


class Opened:
    """A graph with its routers open; `plain`: the logits that it gives as it is."""

    def __init__(self, path: Path, folder: Path, target: Target) -> None:
        folder.mkdir()
        with GgufFile.open(path) as source:
            self.plan: Plan = make_plan(source, target)
            write_graph(self.plan.graph, folder, {}, ("test", "0"))
        self.plain = TinySession(folder, self.plan.states).logits(IDS, [len(IDS)])
        options = ort.SessionOptions()
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
        graph = patched(folder / "model.onnx", routers=self.plan.routers)
        self.session = ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def run(self, forced: dict[int, np.ndarray]) -> tuple[F32, list[np.ndarray]]:  # type: ignore[type-arg]
        """Logits and chosen experts, with some routers' choices forced, [tokens, used] each."""
        routers, tokens = self.plan.routers, len(IDS)
        feed = {"input_ids": np.array([IDS]), "attention_mask": np.ones((1, tokens), np.int64)}
        feed |= {state.input: np.zeros(state.sizes(tokens), state.dtype) for state in self.plan.states}
        for index, router in enumerate(routers):
            feed[forced_input(index)] = forced.get(index, np.full((tokens, router.used), -1))[None]
        logits, *experts = self.session.run(["logits", *(router.experts for router in routers)], feed)
        return logits[0], [one[0] for one in experts]


def test_operators_that_choose_themselves(tmp_path: Path) -> None:
    path = write_arch(tmp_path / "t.gguf", all_cases()["qwen3moe: usual"], "Q4_0")
    fused, others = Opened(path, tmp_path / "fused", FUSED), Opened(path, tmp_path / "cpu", APART)
    assert all(router.shares for router in fused.plan.routers)
    assert not any(router.shares for router in others.plan.routers)
    logits, experts = fused.run({})
    np.testing.assert_array_equal(logits, fused.plain)
    for one, other in zip(experts, others.run({})[1], strict=True):
        np.testing.assert_array_equal(one, other)

    forced = {1: np.stack([np.arange(len(IDS)) % 6, (np.arange(len(IDS)) + 2) % 6], axis=1)}
    (found, taken), (wanted, _) = fused.run(forced), others.run(forced)
    np.testing.assert_array_equal(taken[1], forced[1])
    assert np.abs(found - fused.plain).max() > 0.1 * wanted.std()
    assert np.abs(found - wanted).max() < 1e-4 * wanted.std()
