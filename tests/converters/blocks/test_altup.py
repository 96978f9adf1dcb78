"""Gemma 3n's streams however a text is cut, quantized to the last matrix, and with tokens that have no embedding."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from mobius_cli.runtime.session import OnnxModel
from repack.errors import MobiusError
from tests.support.any_arch import CONTEXT, Case, llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import mobius
from tests.support.f32 import dequantized_copy
from tests.support.genai import genai_greedy
from tests.support.oracle import require_llama
from tests.support.runner import TOLERANCE_GELU, export, prompt
from tests.support.tiny import encode, write_file

require_llama()
USUAL, DEEP = (all_cases()[f"gemma3n: {name}"] for name in ("usual", "layers that read others' keys and values"))
TWO = replace(USUAL, keys={**USUAL.keys, "block_count": 2})
STEPS = 16
STACKED = ("altup_proj", "altup_unembd_proj")  # three matrices each
EMPTY = 5  # a token without an embedding: converters add such ones for images


def quantized(path: Path, case: Case, kind: str) -> Path:
    """The case's model with all matrices of whole blocks in one type, also those that stand in stacks."""
    plain = write_arch(path.with_suffix(".plain.gguf"), case)
    tensors, block = {}, gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]][0]
    with GgufFile.open(plain) as source:
        for name in source.tensors:
            values = source.floats(name)
            whole = values.ndim > 1 and values.shape[-1] % block == 0
            stored, number = encode(values.reshape(-1, values.shape[-1]), kind if whole else "F32")
            tensors[name] = stored.reshape(*values.shape[:-1], -1), number
    return write_file(path, case.arch, case.metadata, tensors)


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_cuts(tmp_path: Path, ep: str) -> None:
    """In pieces of one, three and odd lengths, beyond the window."""
    path = write_arch(tmp_path / "t.gguf", DEEP)
    _, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    ids = prompt(60, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    for steps in ([1] * 60, [3] * 20, [33, 2, 25]):
        np.testing.assert_allclose(session.logits(ids, steps), wanted, atol=TOLERANCE_GELU, rtol=0, err_msg=str(steps))


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("kind", ["Q4_0", "Q8_0", "Q4_K", "Q6_K", "NVFP4"])
def test_quantized(tmp_path: Path, kind: str, ep: str) -> None:
    """llama.cpp reads the same weights as floats."""
    path = quantized(tmp_path / "q.gguf", TWO, kind)
    plan, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    kept = {name for name, record in plan.weights.records.items() if record.source_type == kind and record.stored_as}
    assert {f"{name}.weight" for name in (*STACKED, "per_layer_token_embd", "blk.0.laurel_l")} <= kept
    ids = prompt(32, 320)
    wanted = llama_logits(dequantized_copy(path, tmp_path / "f32.gguf"), ids, CONTEXT)
    for steps in (None, [16, *[1] * 16]):
        np.testing.assert_allclose(session.logits(ids, steps), wanted, atol=TOLERANCE_GELU, rtol=0)


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_a_token_without_an_embedding(tmp_path: Path, ep: str) -> None:
    """llama.cpp divides by its length: here it is a number, and nothing to the texts that it is padding for."""
    case = replace(TWO, values={**USUAL.values, "^token_embd": _without_one})
    path = write_arch(tmp_path / "t.gguf", case)
    ids = prompt(24, 320)
    assert EMPTY not in ids
    assert np.isnan(llama_logits(path, [EMPTY, *ids], CONTEXT)).any()
    _, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    assert np.isfinite(session.logits([EMPTY, *ids])).all()
    np.testing.assert_allclose(session.logits(ids), llama_logits(path, ids, CONTEXT), atol=TOLERANCE_GELU, rtol=0)


def _without_one(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    values = rng.standard_normal(shape) / np.sqrt(shape[-1])
    values[EMPTY] = 0
    return values


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_genai_and_the_own_loop(tmp_path: Path, ep: str) -> None:
    """Fewer caches than layers: both generate llama.cpp's tokens."""
    pytest.importorskip("onnxruntime_genai")
    path = write_arch(tmp_path / "t.gguf", DEEP)
    assert mobius("convert", path, "-o", tmp_path / "out", "--ep", ep).exit_code == 0
    model = OnnxModel(tmp_path / "out", threads=1, accuracy_level=0)
    assert len({state.layer for state in model.manifest.states}) == 20
    ids = prompt(40, 320)
    ours = list(model.greedy(ids, STEPS))
    wanted = llama_logits(path, [*ids, *ours[:-1]], CONTEXT)[len(ids) - 1 :]
    assert ours == [int(row.argmax()) for row in wanted]
    theirs = genai_greedy(tmp_path / "out", ids, STEPS)
    assert theirs == ours[: len(theirs)]
    assert len(theirs) == STEPS or theirs[-1] == 0  # which ends a text for onnxruntime-genai where nothing is said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("altup.num_inputs", 3),
        ("altup.active_idx", 1),
        ("embedding_length_per_layer_input", 128),
        ("attention.shared_kv_layers", 2),
        ("final_logit_softcapping", 20.0),
        ("activation_sparsity_scale", [float("-inf")]),
    ],
)
def test_other_sizes_are_refused(tmp_path: Path, key: str, value: Any) -> None:
    """llama.cpp has one number for each, and does not look at the file's."""
    case = replace(TWO, keys={**USUAL.keys, "block_count": 1}, untold_keys={key: value})
    with (
        GgufFile.open(write_arch(tmp_path / "t.gguf", case)) as source,
        pytest.raises(MobiusError, match=f"gemma3n.{key} is "),
    ):
        make_plan(source, choose_target("cpu"))


def test_a_stack_of_another_size_is_refused(tmp_path: Path) -> None:
    case = replace(TWO, untold_tensors={"altup_proj.weight": (2, 256, 256)})
    with (
        GgufFile.open(write_arch(tmp_path / "t.gguf", case)) as source,
        pytest.raises(MobiusError, match=r"altup_proj.weight has shape \[2, 256, 256\]"),
    ):
        make_plan(source, choose_target("cpu"))


def test_sizes_that_a_file_may_say(tmp_path: Path) -> None:
    """As converters write them."""
    keys: dict[str, Any] = {
        "altup.num_inputs": 4, "altup.active_idx": 0, "embedding_length_per_layer_input": 256,
        "attention.shared_kv_layers": 2, "final_logit_softcapping": 30.0,
        "activation_sparsity_scale": [1.6448533535003662] * 10 + [float("-inf")] * 12,
    }  # fmt: skip
    with GgufFile.open(write_arch(tmp_path / "t.gguf", replace(DEEP, untold_keys=keys))) as source:
        warnings = make_plan(source, choose_target("cpu")).warnings
    assert [text.partition(":")[0] for text in warnings] == ["6 tensor(s) are not used, as in llama.cpp"]  # attn_k, ...
