"""Batches of texts of unequal length: each row gets what its text gets alone, wherever the padding stands."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import Target, choose_target
from tests.support.any_arch import CONTEXT, llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.oracle import require_llama
from tests.support.runner import F32, TinySession, empty_states, export, prompt

require_llama()
LENGTHS = (11, 4, 1)  # of the prompts; there is more padding than text
STEPS = 64  # tokens that follow, for all texts together
PAD = 0
# Every way in which positions enter: rotary in the operator, beside it, on a part of the heads and by two bases;
# learned; ALiBi; sharper queries; windows; latent heads; layers without positions; states that padding must not enter;
# caches that other layers read; sinks.
KINDS = (
    "llama: all biases", "llama: heads of 60", "phi3: linear, 20 of 64", "gpt2: usual", "bloom: usual",
    "mpt: both positions, divisors, unused norm", "mistral3: mistral3 queries sharpen", "gemma2: gemma2 usual",
    "minicpm3: minicpm3 usual", "smollm3: smollm3 usual", "qwen35: usual", "mamba2: usual", "falcon-h1: usual",
    "lfm2: usual", "mamba: usual", "rwkv6: usual", "rwkv6qwen2: usual", "rwkv7: rwkv7 usual", "arwkv7: arwkv7 usual",
    "qwen3next: usual", "kimi-linear: usual", "nemotron_h_moe: experts", "gpt-oss: usual",
    "gemma4: shared keys and values, embeddings per layer", "gemma3n: layers that read others' keys and values",
)  # fmt: skip


def padded(texts: list[list[int]], side: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Ids and mask [batch, longest] of the prompts."""
    longest = max(LENGTHS)
    ids, mask = np.full((len(texts), longest), PAD, np.int64), np.zeros((len(texts), longest), np.int64)
    for row, (text, length) in enumerate(zip(texts, LENGTHS, strict=True)):
        place = slice(0, length) if side == "right" else slice(longest - length, longest)
        ids[row, place], mask[row, place] = text[:length], 1
    return ids, mask


def batch_logits(session: TinySession, texts: list[list[int]], side: str) -> list[F32]:
    """Logits at every token of each text: the prompts at once, then one token of each at a time."""
    ids, mask = padded(texts, side)
    names = ["logits", *(state.output for state in session.states)]
    past = {s.input: np.zeros(s.sizes(0, len(texts)), s.dtype) for s in session.states}
    rows: list[list[F32]] = [[] for _ in texts]
    for step in range(STEPS + 1):
        if step:
            ids = np.array([[text[length + step - 1]] for text, length in zip(texts, LENGTHS, strict=True)], np.int64)
            mask = np.pad(mask, ((0, 0), (0, 1)), constant_values=1)
        logits, *present = session.session.run(names, {"input_ids": ids, "attention_mask": mask, **past})
        past = {s.input: value for s, value in zip(session.states, present, strict=True)}
        seen = mask[:, -ids.shape[1] :].astype(bool)
        for row, found in enumerate(logits):
            rows[row].append(found[seen[row]])
    return [np.concatenate(row) for row in rows]


@pytest.mark.parametrize(("ep", "side"), [("onnx", "left"), ("onnx", "right"), ("cpu", "right")])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_texts_alone(tmp_path: Path, kind: str, ep: str, side: str) -> None:
    """Against llama.cpp on each text."""
    case = all_cases()[kind]
    path = write_arch(tmp_path / "t.gguf", case)
    _, session = export(path, tmp_path / "onnx", ep=ep, accuracy_level=0)
    texts = [prompt(length + STEPS, 320, seed) for seed, length in enumerate(LENGTHS)]
    for text, found in zip(texts, batch_logits(session, texts, side), strict=True):
        wanted = llama_logits(path, text, CONTEXT)
        np.testing.assert_allclose(found, wanted, atol=case.tolerance, rtol=0)


def ragged(tmp_path: Path, kind: str, target: Target) -> tuple[TinySession, list[list[int]]]:
    """A session on the CPU, whatever the target is, and texts."""
    path = write_arch(tmp_path / "t.gguf", all_cases()[kind])
    with GgufFile.open(path) as source:
        plan = make_plan(source, target)
        write_graph(plan.graph, tmp_path, {}, ("test", "0"))
    return TinySession(tmp_path, plan.states), [prompt(n + STEPS, 320, seed) for seed, n in enumerate(LENGTHS)]


@pytest.mark.parametrize("kind", ["llama: all biases", "gpt2: usual", "mamba2: usual"])
def test_what_the_cache_cannot_have_is_an_error(tmp_path: Path, kind: str) -> None:
    """GroupQueryAttention takes the first columns for the text: padding before it stops the run, at every step."""
    session, texts = ragged(tmp_path, kind, choose_target("cpu", accuracy_level=0))
    stopped = pytest.raises(InvalidArgument, match="padding_must_stand_behind_the_prompt")
    with stopped:
        batch_logits(session, texts, "left")
    ids, mask = np.array([texts[0][:8]], np.int64), np.ones((1, 8), np.int64)
    names = ["logits", *(state.output for state in session.states)]
    _, *present = session.session.run(names, {"input_ids": ids, "attention_mask": mask, **empty_states(session.states)})
    past = {s.input: value for s, value in zip(session.states, present, strict=True)}
    mask = np.ones((1, 9), np.int64)
    mask[0, 0] = 0
    with stopped:
        session.session.run(names, {"input_ids": ids[:, :1], "attention_mask": mask, **past})


@pytest.mark.parametrize(
    "kind",
    ["qwen35: usual", "qwen3next: usual", "kimi-linear: usual", "mamba2: usual", "falcon-h1: usual", "lfm2: usual"],
)
def test_rows_are_the_texts_alone_on_gpus(tmp_path: Path, kind: str) -> None:
    """Their graph on the CPU, but for norms inside of attention: against itself without padding.

    In float32, where no token is so near to another expert that the order of a sum decides.
    """
    session, texts = ragged(tmp_path, kind, replace(choose_target("cuda"), norms_heads=False, dtype="float32"))
    for text, found in zip(texts, batch_logits(session, texts, "right"), strict=True):
        np.testing.assert_allclose(found, session.logits(text), atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["llama: all biases", "mamba2: usual"])
def test_where_no_kernel_checks_there_are_no_numbers(tmp_path: Path, kind: str) -> None:
    """The graph for GPUs: rows that begin with padding are NaN from their first logit on, the others what they were."""
    session, texts = ragged(tmp_path, kind, choose_target("cuda"))
    left, right = batch_logits(session, texts, "left"), batch_logits(session, texts, "right")
    np.testing.assert_allclose(left[0], right[0], atol=0.05)
    assert all(np.isnan(rows).all() for rows in left[1:])
    assert all(np.isfinite(rows).all() for rows in right)
