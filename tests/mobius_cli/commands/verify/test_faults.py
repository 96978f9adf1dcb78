"""Faults planted in two folders, of which `mobius verify` names every one before llama.cpp starts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mobius_cli.commands.verify import verify
from repack.errors import MobiusError
from tests.support.any_arch import Case, write_arch
from tests.support.arch_cases import gpt_oss
from tests.support.cli import contents, mobius
from tests.support.planted import PlantedFolder
from tests.support.tiny import SMALL, write_tiny

TYPES = {"attn_v": "Q6_K", "token_embd": "Q8_0", "ffn_down": "Q5_1", "ffn|attn": "Q4_K"}
SIZES = {"n_embd": 256, "n_ff": 256, "head_dim": 64, "n_head": 4, "n_kv": 2, "n_ctx": 64, "n_layer": 2, "n_vocab": 320}
SPECIAL = {"sliding_window_pattern": 2, "final_softcap": 30.0}
TEMPLATE = {"tokenizer.chat_template": "{{ messages[0].content }}"}
EXPERTS = {
    "embedding_length": 64, "feed_forward_length": 64, "expert_feed_forward_length": 64, "block_count": 2,
    "attention.key_length": 32, "attention.value_length": 32,
}  # fmt: skip
GROUP = [f"layers.{layer}/attn/GroupQueryAttention" for layer in (0, 1)]
Plant = Callable[[PlantedFolder], Any]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dense model for `cpu` (q and k norms, a window, a softcap), a mixture with biases, a chat template."""
    base = tmp_path_factory.mktemp("faults")
    write_tiny(base / "dense.gguf", "gemma3", types=TYPES, tokenizer="bpe", **SIZES, **SPECIAL)
    write_tiny(base / "texts.gguf", "llama", extra_metadata=TEMPLATE, **SMALL)
    case = Case("gpt-oss", keys={**gpt_oss.KEYS, **EXPERTS}, values=gpt_oss.VALUES)
    write_arch(base / "mixture.gguf", case, "Q8_0")
    assert mobius("convert", base / "dense.gguf", "-o", base / "dense", "--ep", "cpu").exit_code == 0
    for name in ("mixture", "texts"):
        assert mobius("convert", base / f"{name}.gguf", "-o", base / name).exit_code == 0
    return base


@pytest.fixture(autouse=True)
def _no_llama(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: Any, **__: Any) -> None:
        raise MobiusError("llama.cpp was started")

    monkeypatch.setattr(verify, "_server", started)


def scaled(folder: PlantedFolder, factor: float, *rows: int) -> None:
    for part in ("scale", "offset"):
        folder.array(f"blk.0.attn_q.weight.{part}")[list(rows) or slice(None)] *= factor


def swapped(folder: PlantedFolder, first: Any, second: Any, name: str = "blk.0.attn_q.weight") -> None:
    for part in ("codes", "scale", "offset"):
        array = folder.array(f"{name}.{part}")
        array[first], array[second] = array[second].copy(), array[first].copy()


def exchanged(folder: PlantedFolder, one: str, other: str) -> None:
    """The contents of two arrays."""
    first, second = folder.array(one), folder.array(other)
    kept = first.copy()
    first[...], second[...] = second, kept


def bits(folder: PlantedFolder, name: str, mask: int, place: int = 100) -> None:
    folder.array(name).reshape(-1).view(np.uint8)[place] ^= mask


def number(folder: PlantedFolder, name: str, factor: float = 1.05) -> None:
    folder.array(name).reshape(-1)[-1:] *= factor


def negated(folder: PlantedFolder, name: str, row: int) -> None:
    folder.array(name)[row] *= -1


def without_norm(folder: PlantedFolder) -> None:
    node = folder.node("attn/attn_k_norm/SimplifiedLayerNormalization")
    for other in folder.model.graph.node:
        for i, name in enumerate(other.input):
            if name == node.output[0]:
                other.input[i] = node.input[0]
    folder.model.graph.node.remove(node)


def attribute(folder: PlantedFolder, node: str, name: str, value: float) -> None:
    found = folder.attribute(node, name)
    setattr(found, "f" if found.type == 1 else "i", value)


def gate_and_up(folder: PlantedFolder) -> None:
    gate, up = folder.node("layers.0/mlp/MatMulNBits"), folder.node("layers.0/mlp/MatMulNBits_1")
    for place in (1, 2):
        gate.input[place], up.input[place] = up.input[place], gate.input[place]


def untied(folder: PlantedFolder) -> None:
    """The head multiplies with codes of its own, here the same bytes."""
    copy = folder.model.graph.initializer.add()
    copy.CopyFrom(folder.tensor("token_embd.weight.codes"))
    copy.name = "output.weight.codes"
    folder.node("lm_head/MatMulNBits").input[1] = copy.name


def rope_base(folder: PlantedFolder) -> None:
    angles = np.arange(8)[:, None] * 9e3 ** -(np.arange(32) / 32)
    folder.array("rope_1.cos")[0] = np.cos(angles)


def table_entry(folder: PlantedFolder) -> None:
    folder.array("rope_1.far_sin").reshape(-1)[77] += 1e-7


def heads(folder: PlantedFolder) -> None:
    swapped(folder, slice(0, 64), slice(64, 128))


def data_type(folder: PlantedFolder) -> None:
    folder.tensor("blk.0.ffn_down.weight.scale").data_type = 16  # float16 as bfloat16


def external(folder: PlantedFolder, key: str, change: Callable[[str], str]) -> None:
    entry = next(e for e in folder.tensor("blk.1.ffn_down.weight.codes").external_data if e.key == key)
    entry.value = change(entry.value)


def token_ids(folder: PlantedFolder) -> None:
    def change(content: Any) -> None:
        vocab = content["model"]["vocab"]
        one, other = list(vocab)[40:42]
        vocab[one], vocab[other] = vocab[other], vocab[one]

    folder.json("tokenizer.json", change)


def template(folder: PlantedFolder) -> None:
    (folder.path / "chat_template.jinja").write_text("{{ messages[1].content }}")


def shortened(folder: PlantedFolder) -> None:
    folder.data = folder.data[:-64]


def swapped_input(folder: PlantedFolder) -> None:
    node = folder.node("model/mask/Sub")
    node.input[0], node.input[1] = node.input[1], node.input[0]


def unsaid_rounding(content: Any) -> None:
    """The offsets of Q5_1 are sums, of which float32 rounds some."""
    record = next(one for one in content["tensors"] if one["name"] == "blk.0.ffn_down.weight")
    record["roundings"]["offset"]["rounded"] += 1


def first_row(content: Any) -> None:
    content["tensors"][0]["first_row"] = 1


def q4(part: str) -> str:
    return f"blk.1.ffn_up.weight.{part}"


DENSE: dict[str, tuple[Plant, str]] = {
    "a matrix scaled by 1.05": (lambda f: scaled(f, 1.05), "blk.0.attn_q.weight"),
    "swapped rows": (lambda f: swapped(f, 3, 9), "blk.0.attn_q.weight"),
    "an inverted row": (lambda f: scaled(f, -1, 7), "256 of 65,536 weights differ, first in row 7"),
    "a block": (lambda f: f.array(q4("codes"))[5, 3].fill(0x77), "blk.1.ffn_up.weight"),
    "a nibble": (lambda f: bits(f, q4("codes"), 0x10), "blk.1.ffn_up.weight: 1 of"),
    "a bit of a scale": (lambda f: bits(f, q4("scale"), 1), "blk.1.ffn_up.weight"),
    "a bit of a float16 scale": (lambda f: bits(f, "blk.1.ffn_down.weight.scale", 1), "blk.1.ffn_down.weight"),
    "offsets of zero": (lambda f: f.array(q4("offset")).fill(0), "blk.1.ffn_up.weight"),
    "an offset": (lambda f: bits(f, q4("offset"), 1), "blk.1.ffn_up.weight"),
    "a code of 8 bits": (lambda f: bits(f, "blk.0.attn_v.weight.codes", 1), "blk.0.attn_v.weight: 1 of"),
    "the zero point": (lambda f: bits(f, "zero_point_8", 1, 0), "zero_point_8: the constant"),
    "a dropped norm": (without_norm, "attn_k_norm/SimplifiedLayerNormalization: the node"),
    "a norm's weight": (lambda f: number(f, "blk.1.ffn_norm.weight"), "blk.1.ffn_norm.weight: 1 of 256"),
    "the final norm": (lambda f: number(f, "output_norm.weight", -1), "output_norm.weight: 1 of 256"),
    "epsilon": (lambda f: attribute(f, "layers.0/SimplifiedLayerNormalization", "epsilon", 1e-5), "epsilon is"),
    "the base of a rotary embedding": (rope_base, "rope_1.cos: the constant"),
    "an entry of a table": (table_entry, "rope_1.far_sin: the constant differs first in element 77"),
    "the order of heads": (heads, "blk.0.attn_q.weight"),
    "gate and up": (gate_and_up, "attribute|input 1 is 'blk.0.ffn_up"),
    "two layers' matrices": (lambda f: exchanged(f, "blk.0.ffn_up.weight.codes", q4("codes")), "blk.0.ffn_up.weight"),
    "two layers' norms": (lambda f: exchanged(f, "blk.0.ffn_norm.weight", "blk.1.ffn_norm.weight"), "ffn_norm"),
    "a row of the embedding": (lambda f: f.array("token_embd.weight.codes")[17, 1].fill(3), "in row 17, column 32"),
    "an untied head": (untied, "input 1 is 'output.weight.codes'"),
    "a softcap": (lambda f: f.array("final_softcap_30_float32").fill(50), "final_softcap_30_float32: the constant"),
    "a window": (lambda f: attribute(f, GROUP[0], "local_window_size", 9), "local_window_size is 9"),
    "the attention's scale": (lambda f: attribute(f, GROUP[1], "scale", 0.1), "scale is"),
    "key/value heads": (lambda f: attribute(f, GROUP[1], "kv_num_heads", 1), "kv_num_heads is"),
    "activations of 8 bits": (lambda f: attribute(f, "lm_head/MatMulNBits", "accuracy_level", 0), "accuracy_level is"),
    "a type": (data_type, "blk.0.ffn_down.weight"),
    "a shape": (lambda f: f.tensor("zero_point_8").dims.pop(), "zero_point_8: the initializer is [1] of type 2"),
    "a constant": (lambda f: f.array("embedding_scale_16_float32").fill(15), "embedding_scale_16_float32: the"),
    "inputs in another order": (swapped_input, "model/mask/Sub: input 0"),
    "external data elsewhere": (lambda f: external(f, "offset", lambda o: str(int(o) + 32)), "blk.1.ffn_down.weight"),
    "external data of another file": (lambda f: external(f, "location", lambda _: "other.bin"), "other.bin"),
    "less external data": (lambda f: external(f, "length", lambda n: str(int(n) - 32)), "blk.1.ffn_down.weight.codes"),
    "a shorter file": (shortened, "names more of"),
    "a rounding that is not there": (lambda f: f.json("mobius.json", unsaid_rounding), "where mobius.json says"),
    "a manifest that reads rows elsewhere": (lambda f: f.json("mobius.json", first_row), "first_row is 1 instead of 0"),
    "a manifest of another model": (lambda f: f.json("mobius.json", lambda c: c.update(hidden="x")), "hidden is"),
}  # fmt: skip
TEXTS: dict[str, tuple[Plant, str]] = {
    "tokens' ids": (token_ids, "tokenizer.json: model.vocab."),
    "the chat template": (template, "chat_template.jinja: is not what the source makes, from byte 12 on"),
    "where texts end": (lambda f: f.json("config.json", lambda c: c.update(eos_token_id=5)), ": eos_token_id is 5"),
    "where genai ends texts": (
        lambda f: f.json("genai_config.json", lambda c: c["model"].update(eos_token_id=5)), "model.eos_token_id is 5",
    ),
}  # fmt: skip
MIXTURE: dict[str, tuple[Plant, str]] = {
    "two experts": (
        lambda f: exchanged(f, "blk.0.ffn_down_exps.weight.1.codes", "blk.0.ffn_down_exps.weight.2.codes"),
        "blk.0.ffn_down_exps.weight: ",
    ),
    "an expert's gate as its up": (
        lambda f: f.array("blk.1.ffn_gate_up_exps.3.codes").__setitem__(
            slice(None), np.roll(f.array("blk.1.ffn_gate_up_exps.3.codes"), 64, axis=1)
        ),
        "blk.1.ffn_gate_exps.weight: ",
    ),
    "a row of the router": (lambda f: negated(f, "blk.0.ffn_gate_inp.weight", 2), "first in row 2, column 0"),
    "a bias of the router": (lambda f: number(f, "blk.0.ffn_gate_inp.bias"), "blk.0.ffn_gate_inp.bias: 1 of 5"),
    "a bias": (lambda f: number(f, "blk.1.attn_k.bias"), "blk.1.attn_k.bias: 1 of 64"),
    "a sink": (lambda f: number(f, "blk.1.attn_sinks.weight"), "blk.1.attn_sinks.weight: 1 of 4"),
    "a scale of a column": (lambda f: number(f, "blk.0.attn_output.weight.scale"), "blk.0.attn_output.weight"),
    "how many experts": (lambda f: f.array("used_experts_2").fill(1), "used_experts_2: the constant"),
    "a window of a mask": (lambda f: f.array("window_8").fill(9), "window_8: the constant"),
    "the activation's bound": (lambda f: number(f, "swiglu_limit_7_float32"), "swiglu_limit_7_float32"),
    "a token's row": (lambda f: negated(f, "token_embd.weight.codes", 9), "first in row 9"),
}  # fmt: skip


FEW = ("-p", "a", "-n", 1)
FAULTS = {"dense": DENSE, "texts": TEXTS, "mixture": MIXTURE}


@pytest.mark.parametrize(("model", "fault"), [(model, fault) for model in FAULTS for fault in FAULTS[model]])
def test_a_fault_is_named(folders: Path, tmp_path: Path, model: str, fault: str) -> None:
    plant, named = FAULTS[model][fault]
    folder = PlantedFolder(folders / model, tmp_path / "wrong")
    plant(folder)
    done = mobius("verify", folder.save(), "--gguf", folders / f"{model}.gguf", *FEW, "--json")
    assert done.exit_code == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["verdict"] == "diverged" and not found["passed"]
    said = [f"{entry['where']}: {entry['what']}" for entry in found["proof"]["differences"]]
    assert any(part in line for line in said for part in named.split("|")), said


@pytest.mark.parametrize("model", ["dense", "mixture"])
def test_a_right_folder_passes(folders: Path, model: str) -> None:
    done = mobius("verify", folders / model, folders / f"{model}.gguf", "--weights-only")
    assert done.exit_code == 0 and "each the source's bit for bit" in done.stdout
    assert done.stdout.splitlines()[-1] == "PASS: the folder's weights are the source's"


def test_what_weights_only_leaves_out(folders: Path, tmp_path: Path) -> None:
    folder = PlantedFolder(folders / "dense", tmp_path / "wrong")
    token_ids(folder)
    attribute(folder, "lm_head/MatMulNBits", "accuracy_level", 0)
    asked = (folder.save(), folders / "dense.gguf")
    assert mobius("verify", *asked, "--weights-only").exit_code == 0
    done = mobius("verify", *asked, *FEW)
    last = done.stdout.splitlines()[-1]
    assert done.exit_code == 1 and last.startswith(
        "FAIL: the folder is not what its source makes, 2 differences in its"
    )
    assert last.endswith("if another build of mobius wrote it, convert again")


def test_a_folder_of_an_older_version(folders: Path, tmp_path: Path) -> None:
    """Its graph may be another; its weights may not."""
    folder = PlantedFolder(folders / "dense", tmp_path / "old")
    folder.json("mobius.json", lambda content: content["tool"].update(version="0.0.1"))
    attribute(folder, "lm_head/MatMulNBits", "accuracy_level", 0)
    asked = ("verify", folder.save(), folders / "dense.gguf", "--weights-only")
    assert mobius(*asked).exit_code == 0
    done = mobius(*asked[:-1], "-p", "a", "-n", "1")
    assert "llama.cpp was started" in done.stderr and "mobius-cli 0.0.1 wrote the folder" in done.stdout
    bits(folder, q4("codes"), 0x10)
    folder.save()
    assert mobius(*asked).exit_code == 1


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("dense", ("--ep", "cpu", "--storage", "small")),
        ("mixture", ("--ep", "cpu", "--storage", "small")),
        ("mixture", ("--ep", "cuda", "--storage", "small")),
        ("mixture", ("--ep", "cuda")),
        ("dense", ("--ep", "cuda", "--dtype", "bf16")),
        ("mixture", ("--ep", "cpu", "--dequantize")),
        ("dense", ("--layout", "hub", "--dtype", "f16")),
    ],
)
def test_other_targets(folders: Path, tmp_path: Path, model: str, options: tuple[str, ...]) -> None:
    """A right folder passes in every form; one bit anywhere in its data does not."""
    source, folder = folders / f"{model}.gguf", tmp_path / "folder"
    assert mobius("convert", source, "-o", folder, *options).exit_code == 0
    right = mobius("verify", folder, source, "--weights-only")
    assert right.exit_code == 0, right.stdout
    data = next(folder.rglob("*.onnx_data"))
    for place in np.random.default_rng(3).integers(0, data.stat().st_size, 2):
        raw = bytearray(data.read_bytes())
        raw[place] ^= 4
        data.write_bytes(raw)
        done = mobius("verify", folder, source, *FEW)
        assert done.exit_code == 1, f"byte {place} of {options}"
        raw[place] ^= 4
        data.write_bytes(raw)


def test_scales_that_are_bytes(folders: Path, tmp_path: Path) -> None:
    """Experts of FP4 on GPUs keep scales that float16 would lose."""
    small = {"_exps.weight": lambda rng, shape: 1e-9 * rng.standard_normal(shape)}
    case = Case("gpt-oss", keys={**gpt_oss.KEYS, **EXPERTS}, values={**gpt_oss.VALUES, **small})
    write_arch(tmp_path / "m.gguf", case, {"exps": "MXFP4", "": "Q8_0"})
    assert mobius("convert", tmp_path / "m.gguf", "-o", tmp_path / "m", "--ep", "cuda").exit_code == 0
    done = mobius("verify", tmp_path / "m", tmp_path / "m.gguf", "--weights-only")
    assert done.exit_code == 0, done.stdout


def test_a_manifest_that_forgets_the_data(folders: Path, tmp_path: Path) -> None:
    folder = PlantedFolder(folders / "dense", tmp_path / "wrong").save()
    content = json.loads((folder / "mobius.json").read_text())
    del content["files"]["model.onnx_data"]
    (folder / "mobius.json").write_text(json.dumps(content))
    (folder / "model.onnx_data").unlink()
    done = mobius("verify", folder, folders / "dense.gguf", *FEW)
    assert done.exit_code == 2 and "has no model.onnx_data beside it" in done.stderr


def test_nothing_is_written(folders: Path) -> None:
    before = contents(folders / "dense")
    mobius("verify", folders / "dense", folders / "dense.gguf", "--weights-only")
    assert contents(folders / "dense") == before
