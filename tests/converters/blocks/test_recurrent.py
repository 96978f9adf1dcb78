"""Layers whose state has a fixed size: the same logits and states however a text is cut, in place or not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from mobius_cli.runtime.decoding import Decoding
from mobius_cli.runtime.session import OnnxModel
from tests.support.any_arch import CONTEXT, llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import mobius
from tests.support.genai import genai_greedy
from tests.support.oracle import require_llama
from tests.support.runner import F32, TinySession, empty_states, export, prompt

require_llama()
LENGTH = 100
KINDS = (
    "qwen35: usual", "mamba2: usual", "falcon-h1: usual", "granitehybrid: usual", "nemotron_h: usual", "plamo2: usual",
    "lfm2: usual", "mamba: usual", "jamba: usual", "rwkv6: usual", "rwkv6qwen2: usual", "rwkv7: rwkv7 usual",
    "arwkv7: arwkv7 usual", "qwen3next: usual", "kimi-linear: usual", "nemotron_h_moe: experts", "lfm2moe: experts",
)  # fmt: skip
GENERATED = (
    "qwen35: usual", "mamba2: usual", "falcon-h1: usual", "nemotron_h: usual", "lfm2: usual",
    "lfm2: attention first and last, long convolution", "mamba: usual", "jamba: usual", "rwkv6: usual",
    "rwkv6qwen2: usual", "rwkv7: rwkv7 usual", "arwkv7: arwkv7 usual", "qwen3next: usual", "kimi-linear: usual",
    "lfm2moe: experts",
)  # fmt: skip
# onnxruntime-genai makes caches of keys and values of one size, which only the target cpu gives both of them.
NOT_IN_GENAI = {("kimi-linear: usual", "onnx")}
# Key heads for one head and several, a decay per key, scans, convolutions, shifted tokens. In float16, but for experts:
# where two of them are near, rounding decides.
ON_GPUS = {
    "qwen35: usual": "float16", "mamba2: usual": "float16", "lfm2: usual": "float16", "rwkv7: rwkv7 usual": "float16",
    "qwen3next: usual": "float32", "kimi-linear: usual": "float32",
}  # fmt: skip
LIMITS = {"float16": 0.02, "float32": 1e-4}  # of the difference from llama.cpp, over the logits' deviation
STEPS = 30
CUTS = {"at once": [100], "one by one": [1] * 100, "threes": [3] * 33 + [1], "odd": [2, 65, 33]}


def run(session: TinySession, ids: list[int], steps: list[int]) -> tuple[F32, dict[str, F32]]:
    """Logits [tokens, vocabulary], and the states behind the text."""
    names = ["logits", *(state.output for state in session.states)]
    past, rows, done = empty_states(session.states), [], 0
    for length in steps:
        part, mask = np.array([ids[done : done + length]]), np.ones((1, done + length), np.int64)
        logits, *present = session.session.run(names, {"input_ids": part, "attention_mask": mask, **past})
        past = {state.input: value for state, value in zip(session.states, present, strict=True)}
        rows.append(logits[0])
        done += length
    return np.concatenate(rows), past


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("kind", KINDS)
def test_cuts(tmp_path: Path, kind: str, ep: str) -> None:
    """Every cut of a text gives llama.cpp's logits at every position, and one state."""
    case = all_cases()[kind]
    path = write_arch(tmp_path / "t.gguf", case)
    _, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    states: dict[str, F32] = {}
    for name, steps in CUTS.items():
        logits, found = run(session, ids, steps)
        np.testing.assert_allclose(logits, wanted, atol=case.tolerance, rtol=0, err_msg=name)
        for state in session.states:
            if state.position_axis is None:
                known = states.setdefault(state.input, found[state.input])
                np.testing.assert_allclose(
                    found[state.input], known, atol=1e-4, rtol=0, err_msg=f"{name} {state.input}"
                )
    assert states


@pytest.mark.parametrize("kind", KINDS)
def test_states_in_place(tmp_path: Path, kind: str) -> None:
    """Past and present in one buffer, as mobius and onnxruntime-genai bind them: nothing reads what was overwritten."""
    path = write_arch(tmp_path / "t.gguf", all_cases()[kind])
    assert mobius("convert", path, "-o", tmp_path / "out", "--ep", "cpu").exit_code == 0
    model = OnnxModel(tmp_path / "out", threads=1, accuracy_level=0)
    assert all(state.in_place for state in model.manifest.states)
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    decoding = model.start(LENGTH)
    rows = [decoding.run(ids[:7]), decoding.run(ids[7:80]), *(decoding.run([token]) for token in ids[80:])]
    np.testing.assert_allclose(np.concatenate(rows), wanted, atol=1e-4, rtol=0)
    np.testing.assert_allclose(model.logits(ids), wanted, atol=1e-4, rtol=0, err_msg="a second text")


@pytest.mark.parametrize("kind", ON_GPUS)
def test_states_in_place_on_gpus(tmp_path: Path, kind: str) -> None:
    """The graph for them on the CPU, but for norms inside of attention."""
    path = write_arch(tmp_path / "t.gguf", all_cases()[kind])
    with GgufFile.open(path) as source:
        plan = make_plan(source, replace(choose_target("cuda"), norms_heads=False, dtype=ON_GPUS[kind]))
        write_graph(plan.graph, tmp_path, {}, ("test", "0"))
    decoding = Decoding(TinySession(tmp_path, plan.states).session, plan.states, LENGTH, "cpu", last_logits=False)
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    rows = [decoding.run(ids[:7]), decoding.run(ids[7:60]), *(decoding.run([token]).copy() for token in ids[60:])]
    assert np.sqrt(np.mean((np.concatenate(rows) - wanted) ** 2)) < LIMITS[ON_GPUS[kind]] * wanted.std()


@pytest.mark.parametrize(
    ("kind", "ep"), [(kind, ep) for kind in GENERATED for ep in ("cpu", "onnx") if (kind, ep) not in NOT_IN_GENAI]
)
def test_genai_generates_the_same(tmp_path: Path, kind: str, ep: str) -> None:
    """Without attention, with it in some layers, with it beside the state space, a convolution's state alone."""
    pytest.importorskip("onnxruntime_genai")
    path = write_arch(tmp_path / "t.gguf", all_cases()[kind])
    assert mobius("convert", path, "-o", tmp_path / "out", "--ep", ep).exit_code == 0
    ids = prompt(LENGTH - STEPS, 320)
    ours = list(OnnxModel(tmp_path / "out", threads=1).greedy(ids, STEPS))
    theirs = genai_greedy(tmp_path / "out", ids, STEPS)
    assert theirs == ours[: len(theirs)]
    assert len(theirs) == STEPS or theirs[-1] == 0  # which ends a text for onnxruntime-genai where nothing is said
