"""Experts in one operator, as GPUs have them: in float32 on the CPU, logits equal llama.cpp's."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import pytest

from converters.graph.graph import Node
from converters.graph.onnx_file import write_graph
from converters.plan import Plan, make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from converters.weights.formats import FORMATS
from converters.weights.mixture import MIXTURE_KINDS
from repack.block_quantized import layout_of
from repack.registry import QUANT_TYPES
from tests.support.any_arch import llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.f32 import dequantized_copy
from tests.support.oracle import require_llama
from tests.support.runner import F32, TinySession, prompt
from tests.support.tiny import Types

require_llama()
ON_GPUS = replace(choose_target("cuda"), norms_heads=False, dtype="float32")  # in which the CPU runs it
STEPS = [29, 2, *[1] * 9]
# The CPU's kernel rounds what 8-bit codes and FP4 multiply; shares of the logits' deviation.
SCALES = all_cases()["qwen3moe: scales"]
MOST = {"Q4_0": 1e-4, "Q8_0": 0.03, "MXFP4": 0.01, "NVFP4": 0.01}
CASES = [
    ("qwen3moe: usual", "Q4_0"), ("qwen3moe: usual", "Q8_0"), ("qwen3moe: usual", "NVFP4"),
    ("gpt-oss: usual", "Q4_0"), ("gpt-oss: usual", "MXFP4"), ("qwen2moe: shared", "Q4_0"),
    ("deepseek2: deepseek2 absorbed, groups, yarn", "Q4_0"),  # weights that add up to 2.5
]  # fmt: skip


def fused(node: Node) -> bool:
    return node.op_type == "QMoE"


def upright(plan: Plan) -> None:
    """FP4 as the CPU's kernel wants it: rows upright, and said so."""
    for node in filter(fused, plan.graph.nodes):
        if node.attributes["quant_type"] == "int":
            continue
        node.attributes["weights_prepacked"] = 1
        for value in (node.inputs[2], node.inputs[5]):
            assert value is not None and value.compute is not None and value.shape is not None
            turned = value.compute()  # [experts, columns, rows / 2]
            nibbles = np.stack([turned & 15, turned >> 4], axis=-1).reshape(*turned.shape[:2], -1).swapaxes(1, 2)
            packed = nibbles[..., 0::2] | nibbles[..., 1::2] << 4
            value.shape, value.compute = packed.shape, lambda packed=packed: packed


def both_logits(path: Path, ids: list[int]) -> tuple[F32, F32, Sequence[Node]]:
    """Ours in steps, llama.cpp's, and the graph's nodes."""
    folder = path.with_suffix("")
    folder.mkdir()
    with GgufFile.open(path) as source:
        plan = make_plan(source, ON_GPUS)
        upright(plan)
        write_graph(plan.graph, folder, {}, ("test", "0"))
    wanted = llama_logits(dequantized_copy(path, path.with_suffix(".f32")), ids, 256)
    return TinySession(folder, plan.states).logits(ids, STEPS), wanted, plan.graph.nodes


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_equals_llama_cpp(tmp_path: Path, name: str, kind: str) -> None:
    path = write_arch(tmp_path / "t.gguf", all_cases()[name], kind)
    found, wanted, nodes = both_logits(path, prompt(sum(STEPS), 320))
    assert any(map(fused, nodes))
    assert np.sqrt(np.square(found - wanted).mean()) < MOST[kind] * wanted.std()


@pytest.mark.parametrize("kind", list(MOST))
def test_stored_weights_are_the_files(tmp_path: Path, kind: str) -> None:
    """Every expert of every projection, read back, against gguf's own numbers."""
    path = write_arch(tmp_path / "t.gguf", all_cases()["gpt-oss: usual"], kind)
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(path).tensors}
    with GgufFile.open(path) as source:
        plan = make_plan(source, replace(ON_GPUS, dtype="float16"))
        computed = {name: value.compute() for name, value in plan.graph.initializers.items() if value.compute}
    stacks = [r for r in plan.weights.records.values() if "_exps.weight" in r.name]
    assert {r.format.split(",")[0] for r in stacks} == {f"QMoE {MIXTURE_KINDS[kind].quant_type}"}
    for record in stacks:
        wanted = gguf.dequantize(tensors[record.name].data, gguf.GGMLQuantizationType[kind])
        layout = layout_of(QUANT_TYPES[kind], record.shape[1], record.shape[2], where=record.name)
        for expert in range(record.shape[0]):
            found = FORMATS["matmulnbits"].read_back(computed.__getitem__, layout, record, expert).dequantize()
            np.testing.assert_array_equal(found, wanted[expert])


def test_second_level_scales(tmp_path: Path) -> None:
    """Of FP4, where gate and up have the same; other ones and other types take another form."""
    names = {
        "alike": lambda rng, shape: np.linspace(0.5, 2, shape[0]),
        "unlike": lambda rng, shape: rng.uniform(0.5, 2, shape),
    }
    counts = {}
    for kind in ("NVFP4", "Q4_0"):
        for name, values in names.items():
            case = replace(SCALES, values={**SCALES.values, r"\.scale": values})
            path, ids = write_arch(tmp_path / f"{kind}_{name}.gguf", case, kind), prompt(sum(STEPS), 320)
            found, wanted, nodes = both_logits(path, ids)
            counts[kind, name] = sum(map(fused, nodes))
            assert np.sqrt(np.square(found - wanted).mean()) < MOST[kind] * wanted.std()
    assert counts == {("NVFP4", "alike"): 2, ("NVFP4", "unlike"): 0, ("Q4_0", "alike"): 0, ("Q4_0", "unlike"): 0}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("llama4: usual", "Q4_0"),  # weights before the experts
        ("qwen3moe: usual", {"_up_exps": "Q8_0", "": "Q4_0"}),
        ("qwen3moe: usual", {"_down_exps": "Q8_0", "": "Q4_0"}),
        ("qwen3moe: usual", "Q4_K"),
        ("mimo2: sinks everywhere, yarn, unused biases and scales", "Q4_0"),  # 96 channels
    ],
)
def test_what_the_operator_has_not_is_gathered(tmp_path: Path, name: str, kinds: Types) -> None:
    with GgufFile.open(write_arch(tmp_path / "t.gguf", all_cases()[name], kinds)) as source:
        assert not any(map(fused, make_plan(source, ON_GPUS).graph.nodes))


def test_on_cpus_experts_are_sorted(tmp_path: Path) -> None:
    with GgufFile.open(write_arch(tmp_path / "t.gguf", all_cases()["qwen3moe: usual"], "Q4_0")) as source:
        assert not any(map(fused, make_plan(source, choose_target("cpu")).graph.nodes))
