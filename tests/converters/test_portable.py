"""The target "onnx": standard operators only, and the same answers in three runtimes that share no code."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from converters.graph.states import State
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from repack.errors import MobiusError
from repack.registry import QUANT_TYPES
from tests.support.any_arch import llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.openvino_child import openvino_logits
from tests.support.oracle import require_llama
from tests.support.runner import empty_states, export, prompt
from tests.support.tiny import write_tiny

require_llama()

LENGTH = 20
LONG = 80  # more than a chunk of recurrent layers
FIRST = {case.arch: case for case in reversed(all_cases().values())}  # an architecture's first case
QUANTIZED = ("llama", "gemma2", "gemma4", "bloom", "minicpm3")
CASES = [(arch, "F32") for arch in FIRST] + [(arch, kind) for arch in QUANTIZED for kind in ("Q4_K", "Q8_0")]


def feeds_of(states: Sequence[State], ids: list[int]) -> dict[str, Any]:
    tokens, mask = np.array([ids], np.int64), np.ones((1, len(ids)), np.int64)
    return {"input_ids": tokens, "attention_mask": mask, **empty_states(states)}


@pytest.mark.parametrize(("arch", "types"), CASES)
def test_three_runtimes(tmp_path: Path, arch: str, types: str) -> None:
    """ONNX's reference evaluator, OpenVINO and ONNX Runtime; the file passes ONNX's checker."""
    pytest.importorskip("openvino")
    path = write_arch(tmp_path / "t.gguf", FIRST[arch], types)
    _, session = export(path, tmp_path / "onnx", ep="onnx", accuracy_level=0)
    model = tmp_path / "onnx" / "model.onnx"
    onnx.checker.check_model(str(model), full_check=True)
    assert {node.domain for node in onnx.load(model, load_external_data=False).graph.node} == {""}
    recurrent = any(state.position_axis is None for state in session.states)
    ids = prompt(LONG if recurrent else LENGTH, 300)
    ours, feeds = session.logits(ids), feeds_of(session.states, ids)
    reference = ReferenceEvaluator(str(model)).run(["logits"], feeds)[0][0]
    np.testing.assert_allclose(reference, ours, atol=1e-3)
    np.testing.assert_allclose(openvino_logits(model, feeds)[0], ours, atol=1e-3)
    if types == "F32":
        np.testing.assert_allclose(ours, llama_logits(path, ids, 256), atol=FIRST[arch].tolerance)


@pytest.mark.parametrize("kind", [kind for kind in QUANT_TYPES if kind in gguf.GGMLQuantizationType.__members__])
def test_onnx_runtime_fuses_every_type(tmp_path: Path, kind: str) -> None:
    """No DequantizeLinear is left: each became MatMulNBits, with the same answers as --dequantize."""
    path = write_tiny(tmp_path / "t.gguf", "llama", types={r"^(token_embd|output)\.": "F32", "norm": "F32", ".": kind})
    _, session = export(path, tmp_path / "onnx", ep="onnx", accuracy_level=0)
    kinds = optimized(tmp_path / "onnx")
    assert kinds.count("MatMulNBits") == 2 * 7
    assert "DequantizeLinear" not in kinds
    _, dense = export(path, tmp_path / "dense", dequantize=True)
    ids = prompt(LENGTH, 320)
    np.testing.assert_allclose(session.logits(ids), dense.logits(ids), atol=2e-3)


def optimized(folder: Path) -> list[str]:
    """Operators of the graph that ONNX Runtime makes of a folder's."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    return [node.op_type for node in onnx.load(folder / "optimized.onnx", load_external_data=False).graph.node]


@pytest.mark.parametrize("kind", ["Q4_K", "Q6_K", "Q5_1", "Q8_0"])
@pytest.mark.parametrize("tied", [True, False])
def test_quantized_embedding_and_head(tmp_path: Path, kind: str, tied: bool) -> None:
    """Also where both are one matrix, the head's product is fused."""
    path = write_tiny(tmp_path / "t.gguf", "llama", tied=tied, types={"norm": "F32", ".": kind})
    _, session = export(path, tmp_path / "onnx", ep="onnx", accuracy_level=0)
    kinds = optimized(tmp_path / "onnx")
    assert kinds.count("MatMulNBits") == 2 * 7 + 1
    assert "DequantizeLinear" not in kinds
    _, dense = export(path, tmp_path / "dense", dequantize=True)
    ids = prompt(LENGTH, 320)
    np.testing.assert_allclose(session.logits(ids), dense.logits(ids), atol=2e-3)


def test_stored_weights_are_exact(tmp_path: Path) -> None:
    """Codes and scales as stored, unfolded here, are the matrices of --dequantize bit for bit."""
    path = write_tiny(tmp_path / "t.gguf", "llama", types={"ffn_down": "Q6_K", "attn_v": "Q5_1", ".": "Q4_K"})
    with GgufFile.open(path) as source:
        kept = make_plan(source, choose_target("onnx")).graph.initializers
        dense = make_plan(source, choose_target("onnx", dequantize=True)).graph.initializers
        names = [name[:-6] for name in kept if name.endswith(".codes")]
        assert len(names) == 16
        for name in names:
            found = _unfolded(kept, name, rows_first=name == "token_embd.weight")
            np.testing.assert_array_equal(found.view(np.uint32), dense[name].compute().view(np.uint32), err_msg=name)


def _unfolded(initializers: dict[str, Any], name: str, rows_first: bool) -> np.ndarray:  # type: ignore[type-arg]
    codes = initializers[f"{name}.codes"]
    stored = codes.compute()
    if codes.dtype in ("int4", "uint8"):
        shape = (*codes.shape[:-1], -1)  # two to a byte, whatever the type is called
        nibbles = np.stack([stored & 15, stored >> 4], axis=-1).reshape(shape).astype(np.int8)
        stored = np.where(nibbles > 7, nibbles - 16, nibbles)

    def upright(values: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        return values if rows_first else values.T

    scale = upright(initializers[f"{name}.scale"].compute()).astype(np.float64)
    values = upright(stored).reshape(*scale.shape, -1).astype(np.float64) * scale[..., None]
    if f"{name}.offset" in initializers:
        values = values + upright(initializers[f"{name}.offset"].compute()).astype(np.float64)[..., None]
    return np.ascontiguousarray(values.reshape(len(scale), -1).astype(np.float32))


def test_choices_that_make_no_sense_are_refused() -> None:
    for ep, form in (("onnx", None), ("cpu", "qdq")):
        with pytest.raises(MobiusError, match="--storage small makes no sense behind DequantizeLinear"):
            choose_target(ep, storage="small", quant_format=form)
        with pytest.raises(MobiusError, match="--accuracy-level is of MatMulNBits"):
            choose_target(ep, accuracy_level=0, quant_format=form)
    with pytest.raises(MobiusError, match="--quant-format matmulnbits cannot be with onnx"):
        choose_target("onnx", quant_format="matmulnbits")
    with pytest.raises(MobiusError, match="unknown quant format 'gguf'"):
        choose_target("cpu", quant_format="gguf")


def test_qdq_on_the_cpu_target(tmp_path: Path) -> None:
    """Fused operators around standard weights: the same answers, and the same codes as the target onnx."""
    path = write_tiny(tmp_path / "t.gguf", "gemma3", types={"ffn_down": "Q6_K", "token_embd": "Q8_0", ".": "Q4_K"})
    plan, session = export(path, tmp_path / "qdq", quant_format="qdq")
    _, usual = export(path, tmp_path / "usual", accuracy_level=0)
    ids = prompt(LENGTH, 320)
    np.testing.assert_allclose(session.logits(ids), usual.logits(ids), atol=2e-3)
    assert "DequantizeLinear" not in optimized(tmp_path / "qdq")
    kinds = {node.op_type for node in plan.graph.nodes}
    assert {"GroupQueryAttention", "DequantizeLinear"} <= kinds
    assert "MatMulNBits" not in kinds
    with GgufFile.open(path) as source:
        portable = make_plan(source, choose_target("onnx")).graph.initializers
        again = make_plan(source, choose_target("cpu", quant_format="qdq")).graph.initializers
        for name, value in again.items():
            if name.endswith((".codes", ".scale", ".offset")):
                np.testing.assert_array_equal(value.compute(), portable[name].compute())
