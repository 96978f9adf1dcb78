"""`mobius convert FOLDER`: the bytes that the GGUF itself would give, without it."""

import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.support.any_arch import Case, write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import contents, mobius
from tests.support.tiny import vocabulary, write_tiny

TARGETS: dict[str, tuple[str, ...]] = {
    "onnx": (),
    "cpu": ("--ep", "cpu"),
    "cpu behind DequantizeLinear": ("--ep", "cpu", "--quant-format", "qdq"),
}
MIXED = {
    "ffn_down": "Q6_K", "attn_v": "Q5_K", "ffn_gate": "Q5_1", "blk.1.attn_q": "Q8_0", "ffn_up": "F16",
    "attn_output": "F32", "post_": "F16", "norm": "F32", "token_embd|output": "Q8_0", ".": "Q4_K",
}  # fmt: skip
FACTORS = [1.0 + i / 7 for i in range(32)]
# 256 x 256 projections: a square matrix does not tell by its shape which way it stands.
MODELS: dict[str, dict[str, Any]] = {
    "llama, tied": {"arch": "llama", "tied": True, "types": MIXED},
    "llama, own head, factors": {"arch": "llama", "rope_freqs": FACTORS, "types": {**MIXED, "token_embd": "Q4_1"}},
    "llama, stacked": {"arch": "llama", "types": {"token_embd": "Q6_K", ".": "Q4_K"}, "tokenizer": "spm"},
    "llama, float embedding": {"arch": "llama", "types": {"token_embd": "BF16", "attn": "Q4_0", ".": "F16"}},
    "llama, small": {
        "arch": "llama", "types": "Q8_0", "n_embd": 32, "n_ff": 32, "head_dim": 16, "n_head": 2, "n_kv": 1,
    },
    "gemma3": {"arch": "gemma3", "types": MIXED, "final_softcap": 30.0, "sliding_window_pattern": [True, False] * 3},
    "qwen2": {"arch": "qwen2", "types": {"attn_v": "IQ4_XS", "ffn_down": "IQ3_S", "token": "Q8_0", ".": "IQ4_XS"}},
}  # fmt: skip


def converted(source: Path, folder: Path, *options: Any) -> dict[str, bytes]:
    done = mobius("convert", source, "-o", folder, *options)
    assert done.exit_code == 0, done.stderr
    return contents(folder)


EVERY_WAY = list(itertools.product(TARGETS, TARGETS))  # from each target to each, itself included
ROUND = list(itertools.pairwise([*TARGETS, next(iter(TARGETS))]))  # each once is what is read, and what is written


def check_ways(path: Path, folder: Path, ways: Sequence[tuple[str, str]]) -> None:
    """Every file as from the GGUF, which is not there."""
    wanted = {name: converted(path, folder / name, *options) for name, options in TARGETS.items()}
    path.rename(path.with_suffix(".away"))
    for old, new in ways:
        found = converted(folder / old, folder / f"{old} to {new}", *TARGETS[new])
        assert found.keys() == wanted[new].keys()
        for name in found:
            assert found[name] == wanted[new][name], f"{old} to {new}: {name}"


@pytest.mark.parametrize("name", MODELS)
def test_the_same_bytes(tmp_path: Path, name: str) -> None:
    options = {"tokenizer": "bpe", **MODELS[name]}
    check_ways(write_tiny(tmp_path / "t.gguf", **options), tmp_path, EVERY_WAY)


class WithTokenizer(Case):
    """A case whose model has a vocabulary."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Every key of the file."""
        found = super().metadata
        return {**found, **vocabulary("bpe", found[f"{self.arch}.vocab_size"])}


@pytest.mark.parametrize(
    "name",
    [
        "llama: fused q, k, v",
        "llama: heads of 100, factors",
        "llama: short",
        "minicpm3",
        "apertus",
        "deci",
        "gpt2",
        "mamba2",
        "plamo2",
        "falcon-h1",
        "nemotron_h",
        "lfm2",
        "mamba",
        "jamba",
        "rwkv6",
        "rwkv6qwen2",
        "qwen2moe: shared",
        "deepseek2: deepseek2 absorbed, groups, yarn",
    ],
)
def test_odd_architectures(tmp_path: Path, name: str) -> None:
    """Fused and reordered rows, tables, arrays in the metadata."""
    case = next(case for label, case in all_cases().items() if label.startswith(name))
    check_ways(write_arch(tmp_path / "t.gguf", WithTokenizer(**vars(case)), "Q5_1"), tmp_path, ROUND)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GGUF and its folder `cpu`."""
    folder = tmp_path_factory.mktemp("made")
    path = write_tiny(folder / "t.gguf", "llama", types=MIXED, tokenizer="bpe", extra_metadata={"general.license": "x"})
    converted(path, folder / "cpu", "--ep", "cpu")
    return folder


@pytest.mark.parametrize(
    "options",
    [("--dequantize",), ("--dtype", "f16"), ("--ep", "cuda"), ("--ep", "cuda", "--dtype", "bf16"),
     ("--context-length", 100), ("--ep", "cpu", "--dtype", "f16", "--dequantize", "--accuracy-level", 0)],
)  # fmt: skip
def test_other_targets_of_an_exact_folder(made: Path, tmp_path: Path, options: tuple[Any, ...]) -> None:
    """Float16 rounds the file's numbers once, also from a folder."""
    assert converted(made / "cpu", tmp_path / "a", *options) == converted(made / "t.gguf", tmp_path / "b", *options)


def test_long_factors_after_short_ones(tmp_path: Path) -> None:
    case = WithTokenizer(**vars(all_cases()["llama: short factors"]))
    path = write_arch(tmp_path / "t.gguf", case, "Q8_0")
    converted(path, tmp_path / "short", "--context-length", 256)
    assert converted(tmp_path / "short", tmp_path / "a") == converted(path, tmp_path / "b")


def test_in_place(made: Path, tmp_path: Path) -> None:
    converted(made / "t.gguf", tmp_path / "a", "--ep", "cpu")
    assert mobius("convert", tmp_path / "a", "-o", tmp_path / "a").exit_code == 2
    assert converted(tmp_path / "a", tmp_path / "a", "--force") == converted(made / "t.gguf", tmp_path / "b")


def test_float32_rounding_is_remembered_and_not_repeated(tmp_path: Path) -> None:
    """An offset that float32 cannot hold: minimum 1, and 8 times the least float16."""
    block = np.array([1], "<f2").view(np.uint8)
    least = np.array([2**-24], "<f2").view(np.uint8)
    row = np.concatenate([least, block, np.arange(16, dtype=np.uint8)])
    raw = np.tile(row, (256, 8))
    extra = {f"blk.{layer}.attn_output.weight": (raw, "Q4_1") for layer in range(2)}
    raw[:, 2:4] = np.array([1000], "<f2").view(np.uint8)
    path = write_tiny(tmp_path / "t.gguf", "llama", tokenizer="bpe", extra_tensors=extra)
    check_ways(path, tmp_path, EVERY_WAY)
    manifest = json.loads((tmp_path / "cpu" / "mobius.json").read_text())
    assert sum(not tensor["exact"] for tensor in manifest["tensors"]) == 2
    for options in (("--dtype", "f16"), ("--dequantize",)):
        refused(tmp_path / "cpu", tmp_path / "no", options, "must not be rounded again", "convert t.gguf itself")


def refused(source: Path, folder: Path, options: tuple[Any, ...], words: str, hint: str, code: int = 1) -> None:
    done = mobius("convert", source, "-o", folder, *options)
    assert done.exit_code == code, done.stderr
    error, advice = done.stderr.splitlines()
    assert error.startswith("error: ") and words in error
    assert advice.startswith("hint: ") and hint in advice
    assert not folder.exists()


@pytest.mark.parametrize(
    ("written", "asked", "words"),
    [
        (("--ep", "cpu", "--storage", "small"), (), "--storage small, which only a session unfolds"),
        (("--dequantize",), (), "how its weights were quantized is lost"),
        (("--dtype", "f16"), (), "holds a float16 graph"),
        (("--ep", "cuda", "--dtype", "bf16"), (), "holds a bfloat16 graph"),
        ((), ("--ep", "cpu", "--storage", "small"), "needs the blocks of the GGUF"),
    ],
)
def test_folders_that_lost_something(made: Path, tmp_path: Path, written: Any, asked: Any, words: str) -> None:
    converted(made / "t.gguf", tmp_path / "a", *written)
    refused(tmp_path / "a", tmp_path / "b", asked, words, "convert t.gguf itself")


def test_folders_of_others_and_damaged_ones(made: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    refused(tmp_path / "other", tmp_path / "b", (), "has no mobius.json", "mobius convert", 2)
    converted(made / "t.gguf", tmp_path / "a")
    manifest_path, model_path = tmp_path / "a" / "mobius.json", tmp_path / "a" / "model.onnx"
    manifest = json.loads(manifest_path.read_text())
    manifest_path.write_text(json.dumps({**manifest, "format": 1}))
    refused(tmp_path / "a", tmp_path / "b", (), "is of an older mobius", "convert the GGUF again", 2)
    manifest_path.write_text(json.dumps({**manifest, "tensors": [{}]}))
    refused(tmp_path / "a", tmp_path / "b", (), "cannot be read: tensors: 'name' is missing", "convert the model", 2)
    model = onnx.load(model_path, load_external_data=False)
    model.graph.initializer.remove(next(i for i in model.graph.initializer if i.name == "output_norm.weight"))
    model_path.write_bytes(model.SerializeToString())
    changed = {**manifest, "files": {**manifest["files"], "model.onnx": model_path.stat().st_size}}
    manifest_path.write_text(json.dumps(changed))
    refused(tmp_path / "a", tmp_path / "b", (), "output_norm.weight", "convert")
    model_path.write_bytes(b"\xff" * changed["files"]["model.onnx"])
    refused(tmp_path / "a", tmp_path / "b", (), "model.onnx cannot be read", "convert the GGUF again", 2)


def test_quant_format_everywhere(made: Path, tmp_path: Path) -> None:
    """`build` and `inspect` take it too; standard ONNX has no MatMulNBits."""
    options = ("--ep", "cpu", "--quant-format", "qdq")
    assert mobius("build", "--gguf", made / "t.gguf", "-o", tmp_path / "a", *options).exit_code == 0
    assert contents(tmp_path / "a") == converted(made / "t.gguf", tmp_path / "b", *options)
    shown = json.loads(mobius("inspect", made / "t.gguf", "--json", *options).stdout)
    assert {kind["becomes"] for kind in shown["types"] if kind["type"] == "Q4_K"} == {"int4, block 32 + offset"}
    fused = ("--quant-format", "matmulnbits")
    refused(made / "t.gguf", tmp_path / "c", ("--ep", "onnx", *fused), "matmulnbits cannot be with onnx", "--ep", 2)


def test_there_and_back_by_the_format_alone(made: Path, tmp_path: Path) -> None:
    there = converted(made / "cpu", tmp_path / "there", "--quant-format", "qdq")
    assert there == converted(made / "t.gguf", tmp_path / "onnx")
    back = converted(tmp_path / "there", tmp_path / "back", "--quant-format", "matmulnbits")
    assert back == contents(made / "cpu")


@pytest.mark.real
def test_smollm2(smollm2_gguf: Path, tmp_path: Path) -> None:
    check_ways(Path(shutil.copy(smollm2_gguf, tmp_path)), tmp_path, ROUND)
