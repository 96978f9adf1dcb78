"""Layers that read another's keys and values, and embeddings of each layer's own, whose table stays quantized."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from converters.graph.onnx_file import write_graph
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.target import choose_target
from mobius_cli.runtime.session import OnnxModel
from repack.errors import MobiusError
from tests.support.any_arch import CONTEXT, llama_logits, write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import mobius
from tests.support.f32 import dequantized_copy
from tests.support.genai import genai_greedy
from tests.support.oracle import require_llama
from tests.support.runner import TinySession, export, prompt

require_llama()
LENGTH, STEPS = 100, 30
NAMES = {
    "shared": "gemma4: shared keys and values, embeddings per layer",
    "widened": "gemma4: heads of 36 and 80, keys and values that nobody reads",
    "as values": "gemma4: keys as values in global layers",
}
CASES = {name: all_cases()[label] for name, label in NAMES.items()}
CUTS = {"at once": [100], "one by one": [1] * 100, "threes": [3] * 33 + [1], "odd": [65, 2, 33]}
TABLE = "per_layer_token_embd.weight"
BIAS_INPUT = 10  # of GroupQueryAttention


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("name", CASES)
def test_cuts(tmp_path: Path, name: str, ep: str) -> None:
    """Every cut of a text, longer than the windows, gives llama.cpp's logits at every position."""
    path = write_arch(tmp_path / "t.gguf", CASES[name])
    _, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    for cut, steps in CUTS.items():
        np.testing.assert_allclose(session.logits(ids, steps), wanted, atol=3e-3, rtol=0, err_msg=cut)


@pytest.mark.parametrize("name", CASES)
def test_in_place(tmp_path: Path, name: str) -> None:
    """Past and present of the owners in one buffer as long as the context, as mobius and genai bind them."""
    path = write_arch(tmp_path / "t.gguf", CASES[name])
    assert mobius("convert", path, "-o", tmp_path / "out", "--ep", "cpu").exit_code == 0
    model = OnnxModel(tmp_path / "out", threads=1, accuracy_level=0)
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    decoding = model.start(CONTEXT)
    rows = [decoding.run(ids[:7]), decoding.run(ids[7:60]), *(decoding.run([token]) for token in ids[60:])]
    np.testing.assert_allclose(np.concatenate(rows), wanted, atol=3e-3, rtol=0)
    np.testing.assert_allclose(model.logits(ids), wanted, atol=3e-3, rtol=0, err_msg="a second text")


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("name", ["shared", "as values"])
def test_genai_generates_the_same(tmp_path: Path, name: str, ep: str) -> None:
    """It takes the number of caches for that of layers, and each one's shape from the graph."""
    pytest.importorskip("onnxruntime_genai")
    path = write_arch(tmp_path / "t.gguf", CASES[name])
    assert mobius("convert", path, "-o", tmp_path / "out", "--ep", ep).exit_code == 0
    decoder = json.loads((tmp_path / "out" / "genai_config.json").read_text())["model"]["decoder"]
    owners = CASES[name].keys["block_count"] - CASES[name].keys.get("attention.shared_kv_layers", 0)
    assert decoder["num_hidden_layers"] == owners
    ids = prompt(LENGTH - STEPS, 320)
    ours = list(OnnxModel(tmp_path / "out", threads=1).greedy(ids, STEPS))
    theirs = genai_greedy(tmp_path / "out", ids, STEPS)
    assert theirs == ours[: len(theirs)]
    assert len(theirs) == STEPS or theirs[-1] == 0  # which ends a text for onnxruntime-genai where nothing is said


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
def test_states_are_the_owners(tmp_path: Path, ep: str) -> None:
    """Each in its own shape; layers that read them have none, and ask for no copy of what they read."""
    plan, _ = export(write_arch(tmp_path / "t.gguf", CASES["shared"]), tmp_path / "out", ep=ep)
    assert [(s.layer, s.part, s.shape[1], s.shape[3]) for s in plan.states] == [
        (0, "key", 1, 64), (0, "value", 1, 64), (1, "key", 1, 128), (1, "value", 1, 128),
    ]  # fmt: skip
    kinds = ("GroupQueryAttention", "Attention")
    nodes = [node for node in onnx.load(tmp_path / "out" / "model.onnx").graph.node if node.op_type in kinds]
    assert [len(node.output) for node in nodes] == [3, 3, 1, 1]


@pytest.mark.parametrize("ep", ["cpu", "onnx"])
@pytest.mark.parametrize("kind", ["Q4_0", "Q4_K", "Q6_K", "Q8_0", "NVFP4"])
def test_quantized(tmp_path: Path, kind: str, ep: str) -> None:
    """The file's own numbers; the table of all layers stays as small as it is, and is looked up so."""
    path = write_arch(tmp_path / "q.gguf", CASES["shared"], kind)
    plan, session = export(path, tmp_path / "out", ep=ep, accuracy_level=0)
    stored = {name: value for name, value in plan.graph.initializers.items() if name.startswith(TABLE)}
    assert stored[f"{TABLE}.codes"].dtype in ("uint8", "int8")  # what a look-up takes: sessions need not widen it
    assert sum(value.nbytes for value in stored.values()) < 1.6 * 320 * 256  # bytes; in float32 it has 4 per weight
    ids = prompt(LENGTH, 320)
    wanted = llama_logits(dequantized_copy(path, tmp_path / "f32.gguf"), ids, CONTEXT)
    np.testing.assert_allclose(session.logits(ids), wanted, atol=3e-3, rtol=0)


def test_float16_holds_a_stream_beyond_its_range(tmp_path: Path) -> None:
    """What a layer's own embedding is gated by is the stream as it is.

    Quantized, since dense products are float32 on CPUs.
    """
    values = {"post_ffw_norm": lambda rng, shape: rng.uniform(1e5, 3e5, shape), **CASES["shared"].values}
    case = replace(CASES["shared"], values=values)
    path = write_arch(tmp_path / "t.gguf", case, "Q8_0")
    ids = prompt(40, 320)
    wanted = llama_logits(dequantized_copy(path, tmp_path / "f32.gguf"), ids, CONTEXT)
    _, session = export(path, tmp_path / "half", ep="cpu", dtype="f16", accuracy_level=0)
    found = session.logits(ids, [30, *[1] * 10])
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 0.03 * wanted.std()


@pytest.mark.parametrize(("keys", "message"), [
    ({"attention.sliding_window_pattern": [False, True, True, False]}, "no local and global layer stand before them"),
    ({"attention.shared_kv_layers": 3}, "no local and global layer stand before them"),
    ({"attention.head_count_kv": [1, 1, 2, 1]}, "layer 2 reads keys and values of layer 0, but asks for others"),
    ({"attention.value_length_swa": 128}, "layer 0 has keys of 64 channels and values of 128"),
    ({"rope.dimension_count_swa": 128}, "layer 0 turns 128 channels of heads of 64"),
    ({"attention.sliding_window_pattern": 2}, "sliding_window_pattern is 2, not a flag for each layer"),
])  # fmt: skip
def test_refused(tmp_path: Path, keys: dict[str, object], message: str) -> None:
    """What llama.cpp stops on, or what it would read as something else."""
    case = replace(CASES["shared"], untold_keys=keys)
    with (
        GgufFile.open(write_arch(tmp_path / "t.gguf", case)) as source,
        pytest.raises(MobiusError, match=message),
    ):
        make_plan(source, choose_target("cpu"))


def test_wide_heads_on_gpus(tmp_path: Path) -> None:
    """Zeros are added to the scores of heads of 512: the graph for GPUs on the CPU, as owners of caches and readers."""
    case = all_cases()["gemma4: heads of 512, shared"]
    path = write_arch(tmp_path / "t.gguf", case)
    with GgufFile.open(path) as source:
        plan = make_plan(source, replace(choose_target("cuda"), dtype="float32", norms_heads=False))
        write_graph(plan.graph, tmp_path, {}, ("test", "0"))
    attention = [node for node in plan.graph.nodes if node.op_type == "GroupQueryAttention"]
    assert [len(node.inputs) > BIAS_INPUT and bool(node.inputs[BIAS_INPUT]) for node in attention] == [False, True] * 2
    session, ids = TinySession(tmp_path, plan.states), prompt(LENGTH, 320)
    wanted = llama_logits(path, ids, CONTEXT)
    for cut in ("at once", "odd"):
        np.testing.assert_allclose(session.logits(ids, CUTS[cut]), wanted, atol=case.tolerance, rtol=0)
