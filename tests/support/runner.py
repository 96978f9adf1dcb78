"""One way to check an architecture: a tiny GGUF through our graph, against llama.cpp on its F32 copy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from converters.folder.layout import FLAT
from converters.graph.onnx_file import write_graph
from converters.graph.states import State
from converters.plan import Plan, make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from tests.support.f32 import dequantized_copy
from tests.support.oracle import LlamaModel
from tests.support.tiny import write_tiny

F32 = np.ndarray[Any, np.dtype[np.float32]]
TOLERANCE = 1e-4  # of a logit; what other orders of the sums make is ten times less
TOLERANCE_GELU = 3e-3  # ggml's GELU is a table of float16
EPSILON = 1e-2  # of norms; large enough that a wrong one shows
LENGTH = 24
CALMED = [f"blk.{i}.post_ffw_norm.weight" for i in range(6)]


def prompt(length: int, vocab: int, seed: int = 7) -> list[int]:
    """Random token ids."""
    return [int(t) for t in np.random.default_rng(seed).integers(0, vocab, length)]


def export(path: Path, folder: Path, **choices: Any) -> tuple[Plan, TinySession]:
    """Plan and write a model without tokenizer or configs; load it on the CPU."""
    context, ep = choices.pop("context_length", None), choices.pop("ep", "cpu")
    if ep == "onnx":  # whose session has the setting
        choices.pop("accuracy_level", None)
    with GgufFile.open(path) as source:
        plan = make_plan(source, choose_target(ep, **choices), context)
        folder.mkdir(exist_ok=True)
        write_graph(plan.graph, folder, {}, ("test", "0"))
    return plan, TinySession(folder, plan.states)


class TinySession:
    """Runs a graph with states that grow, as any ONNX Runtime user would."""

    def __init__(self, folder: Path, states: Sequence[State]) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")  # of the target "onnx"
        self.session = ort.InferenceSession(str(folder / FLAT.model), options, providers=["CPUExecutionProvider"])
        self.states = states

    def logits(self, ids: list[int], steps: list[int] | None = None) -> F32:
        """Logits [len(ids), vocab], fed in pieces of the given lengths (default: all at once)."""
        past = empty_states(self.states)
        names = ["logits", *(state.output for state in self.states)]
        rows, done = [], 0
        for length in steps or [len(ids)]:
            part = np.array([ids[done : done + length]], np.int64)
            done += length
            mask = np.ones((1, done), np.int64)
            logits, *present = self.session.run(names, {"input_ids": part, "attention_mask": mask, **past})
            rows.append(logits[0])
            past = {state.input: value for state, value in zip(self.states, present, strict=True)}
        assert done == len(ids)
        return np.concatenate(rows)


def empty_states(states: Sequence[State]) -> dict[str, np.ndarray[Any, Any]]:
    """What a graph is given before the first token, by input."""
    return {state.input: np.zeros(state.sizes(0), state.dtype) for state in states}


def llama_logits(path: Path, tmp: Path, ids: list[int]) -> F32:
    """llama.cpp's logits on the F32 copy of a file."""
    with LlamaModel(dequantized_copy(path, tmp / "f32.gguf"), n_ctx=max(64, len(ids))) as model:
        return model.logits(ids)


def write_model(path: Path, arch: str, **options: Any) -> Path:
    """A tiny model whose epsilon matters; gemma3's feed-forwards add little, so that ggml's inexact GELU shows less."""
    calm = {name: np.random.default_rng(i).uniform(0.25, 0.75, 256).astype(np.float32) for i, name in enumerate(CALMED)}
    return write_tiny(path, arch, **{"eps": EPSILON, "extra_tensors": calm if arch == "gemma3" else {}, **options})


def tolerance(arch: str) -> float:
    """Largest difference of a logit; of the architectures that tests.support.tiny writes, one has a GELU."""
    return TOLERANCE_GELU if arch == "gemma3" else TOLERANCE


def check_model(tmp: Path, arch: str, *, length: int = LENGTH, types: Any = "F32", **options: Any) -> tuple[F32, F32]:
    """Write, convert and compare at every position: prompt at once, then a cached step per token.

    Returns our logits and llama.cpp's.
    """
    path = write_model(tmp / "tiny.gguf", arch, types=types, **options)
    plan, session = export(path, tmp / "onnx", accuracy_level=0)
    ids = prompt(length, plan.spec.vocab)
    wanted = llama_logits(path, tmp, ids)
    ours = session.logits(ids)
    np.testing.assert_allclose(ours, wanted, atol=tolerance(arch), rtol=0)
    assert (ours.argmax(-1) == wanted.argmax(-1)).all()
    cut = length - 8
    stepped = session.logits(ids, [cut, *[1] * 8])
    np.testing.assert_allclose(stepped, wanted, atol=tolerance(arch), rtol=0)
    return ours, wanted
