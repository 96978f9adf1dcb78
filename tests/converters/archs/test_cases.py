"""Every case of every architecture: logits equal llama.cpp's, and quantized weights the dequantized ones."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from converters.archs.registry import architectures
from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from tests.support.any_arch import Case, check_arch, write_arch
from tests.support.arch_cases import all_cases
from tests.support.oracle import require_llama
from tests.support.runner import TinySession, export, prompt

require_llama()

CASES = all_cases()
ON_GPUS_MISSING = {"Sinh", "Cosh", "Atan", "Acos", "Asin", "Tan"}  # without a CUDA kernel
MXFP4 = ["gpt-oss"]  # whose files have experts of that type
OTHER_PARTS = {  # of matrices that stand in one
    "ssm_gate_rates": ("attn_gate", "ssm_alpha", "ssm_beta", "ssm_ba"),
    "ssm_rates": ("ssm_alpha", "ssm_beta"),
}
FIRST = {case.arch: case for case in reversed(CASES.values())}  # an architecture's first case


@pytest.mark.parametrize("name", list(CASES))
def test_equals_llama_cpp(tmp_path: Path, name: str) -> None:
    """On both targets that a CPU runs."""
    check_arch(write_arch(tmp_path / "tiny.gguf", CASES[name]), CASES[name], ("cpu", "onnx"))


@pytest.mark.parametrize("arch", list(FIRST))
def test_float16_graph_for_gpus(tmp_path: Path, arch: str) -> None:
    """The graph of the target cuda on the CPU, but for norms inside of attention: near the float32 one."""
    path = write_arch(tmp_path / "tiny.gguf", FIRST[arch])
    plan, session = export(path, tmp_path / "wide", accuracy_level=0)
    ids = prompt(24, plan.spec.vocab)
    wanted = session.logits(ids)
    with GgufFile.open(path) as source:
        half = make_plan(source, replace(choose_target("cuda"), norms_heads=False))
        assert not ON_GPUS_MISSING & {node.op_type for node in half.graph.nodes}
        (tmp_path / "half").mkdir()
        write_graph(half.graph, tmp_path / "half", {}, ("test", "0"))
    found = TinySession(tmp_path / "half", half.states).logits(ids, [16, *[1] * 8])
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 0.02 * wanted.std()


def test_every_architecture_has_a_case() -> None:
    assert set(architectures()) == set(FIRST)


@pytest.mark.parametrize(("arch", "kind"), [*product(FIRST, ["Q8_0", "Q4_K"]), *product(MXFP4, ["MXFP4"])])
def test_quantized_weights_are_the_dequantized_ones(tmp_path: Path, arch: str, kind: str) -> None:
    """Codes, scales and offsets as stored, unfolded here, against the float matrices of --dequantize."""
    path = write_arch(tmp_path / "q.gguf", FIRST[arch], kind)
    with GgufFile.open(path) as source:
        kept = make_plan(source, choose_target("cpu", storage="fast")).graph.initializers
        dense = make_plan(source, choose_target("cpu", dequantize=True)).graph.initializers
        rows = {name[:-6]: _unfolded(kept, name[:-6]) for name in kept if name.endswith(".codes")}
        assert rows
        for name, values in rows.items():
            parts = [name] if name in dense else [part for part in _parts(name) if part in dense]
            assert parts, name
            whole = np.concatenate([_computed(dense, part) for part in parts])
            np.testing.assert_array_equal(values.view(np.uint32), whole.view(np.uint32), err_msg=name)


def _parts(stacked: str) -> list[str]:
    """What blk.0.attn_qkv and others may stand for, in this order; also an expert's gate and up, and OTHER_PARTS."""
    if "_gate_up_" in stacked:
        return [re.sub(r"_gate_up_(\w+)", rf"_{part}_\1.weight", stacked) for part in ("gate", "up")]
    block, name = stacked.rsplit(".", 1)
    stem, letters = name.rsplit("_", 1)
    return [f"{block}.{part}.weight" for part in OTHER_PARTS.get(name) or [f"{stem}_{letter}" for letter in letters]]


def _computed(initializers: dict, name: str) -> np.ndarray:  # type: ignore[type-arg]
    return initializers[name].compute()  # type: ignore[no-any-return]


def _unfolded(initializers: dict, name: str) -> np.ndarray:  # type: ignore[type-arg]
    """scale * (code - zero point) + offset in float64, rounded once: float32 [rows, columns]."""
    codes, scale = _computed(initializers, f"{name}.codes"), _computed(initializers, f"{name}.scale")
    rows, blocks = scale.shape
    bits = {16: 4, 32: 8}[codes.shape[-1]]  # bytes of a block of 32 weights
    numbers = codes if bits == 8 else np.stack([codes & 15, codes >> 4], axis=-1).reshape(rows, blocks, 32)
    centred = numbers.astype(np.float64) - (1 << (bits - 1))
    values = scale.astype(np.float64)[..., None] * centred
    stack, _, expert = name.rpartition(".")
    if f"{name}.offset" in initializers:
        values = values + _computed(initializers, f"{name}.offset").astype(np.float64)[..., None]
    elif f"{stack}.offset" in initializers:  # [experts, blocks, rows]
        values = values + _computed(initializers, f"{stack}.offset")[int(expert)].T.astype(np.float64)[..., None]
    found: np.ndarray = values.astype(np.float32).reshape(rows, -1)  # type: ignore[type-arg]
    return found


def test_a_case_can_be_written_quantized(tmp_path: Path) -> None:
    """The writer really stores what is asked."""
    with GgufFile.open(write_arch(tmp_path / "q.gguf", Case("llama"), "Q4_K")) as source:
        assert source.tensors["blk.0.ffn_up.weight"].type_name == "Q4_K"
