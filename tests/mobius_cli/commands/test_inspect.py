"""`mobius inspect`, `list` and the outermost shell."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.any_arch import write_arch
from tests.support.arch_cases import all_cases
from tests.support.cli import mobius
from tests.support.raw_gguf import LOOKALIKES, MALFORMED
from tests.support.tiny import write_tiny


def test_facts_and_table(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "t.gguf", "gemma3", types={"token_embd": "Q8_0", ".": "Q6_K"}, tokenizer="spm")
    done = mobius("inspect", path)
    assert done.exit_code == 0, done.stderr
    assert "tiny gemma3: gemma3" in done.stdout
    assert "6 layers, hidden 256, heads 4 of 64 (2 key/value)" in done.stdout
    assert "int8, block 16" in done.stdout
    assert "tied head" in done.stdout


def test_layers_of_two_kinds(tmp_path: Path) -> None:
    """Heads and widths of each kind, and that some layers read the caches of others."""
    path = write_arch(tmp_path / "t.gguf", all_cases()["gemma4: shared keys and values, embeddings per layer"])
    words = mobius("inspect", path).stdout
    assert "heads 4 of 64 (1 key/value) or 4 of 128 (1 key/value), 2 layers without a cache" in words
    assert "feed-forward 256 to 512, vocabulary 320" in words


def test_json_predicts_the_folder(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "t.gguf", "llama", types="Q4_K", tokenizer="bpe", n_layer=4)
    for storage in ("fast", "small"):
        report = json.loads(mobius("inspect", path, "--json", "--tensors", "--ep", "cpu", "--storage", storage).stdout)
        assert report["convertible"] is True
        assert len(report["tensors"]) == 4 * 9 + 3
        assert mobius("convert", path, "-o", tmp_path / storage, "--ep", "cpu", "--storage", storage).exit_code == 0
        data = (tmp_path / storage / "model.onnx_data").stat().st_size
        assert report["predicted"]["weight_bytes"] - data < 0.05 * data  # the smallest stay in model.onnx


def test_float16_is_measured(tmp_path: Path) -> None:
    """inspect says before the conversion what convert says after it."""
    types = {"ffn_down": "Q6_K", "norm": "F32", ".": "Q4_0"}
    path = write_tiny(tmp_path / "t.gguf", "llama", types=types, tokenizer="bpe")
    for storage in ("fast", "small"):
        seen = json.loads(
            mobius("inspect", path, "--dtype", "f16", "--ep", "cpu", "--storage", storage, "--json").stdout
        )
        made = mobius(
            "convert", path, "-o", tmp_path / storage, "--dtype", "f16", "--ep", "cpu", "--storage", storage, "--json"
        )
        assert seen["roundings"] == json.loads(made.stdout)["roundings"]
        assert seen["roundings"]["Q6_K scale"]["rounded"] > 0
        assert seen["roundings"]["Q4_0 scale"]["rounded"] == 0
    words = mobius("inspect", path, "--dtype", "f16").stdout
    assert "Q4_0 scales: exact" in words
    assert "Q6_K scales: " in words


def test_what_cannot_be_converted_is_still_shown(tmp_path: Path) -> None:
    strange = {"blk.0.ffn_up.weight": (np.ones((512, 256), np.int32), "I32")}
    path = write_tiny(tmp_path / "t.gguf", "llama", types="Q4_0", extra_tensors=strange)
    done = mobius("inspect", path)
    assert done.exit_code == 1
    assert "I32" in done.stdout
    assert "cannot be converted" in done.stderr
    report = json.loads(mobius("inspect", path, "--json").stdout)
    assert report["convertible"] is False
    assert "I32" in report["reason"]


def test_unknown_architecture_names_the_nearest(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "t.gguf", "llama")
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0lamma"))
    done = mobius("inspect", path)
    assert done.exit_code == 1
    assert "architecture 'lamma' is not supported" in done.stderr
    assert "nearest: llama" in done.stderr


BAD_FILES = {**MALFORMED, **LOOKALIKES}


@pytest.mark.parametrize("case", sorted(BAD_FILES))
@pytest.mark.parametrize("command", ["inspect", "convert"])
def test_malformed_files(tmp_path: Path, case: str, command: str) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(BAD_FILES[case][0])
    done = mobius(command, path, *(["-o", tmp_path / "out"] if command == "convert" else []))
    assert done.exit_code == 2
    assert "Traceback (most" not in done.stderr
    assert "internal error" not in done.stderr
    assert 1 <= len(done.stderr.strip().splitlines()) <= 3
    assert not (tmp_path / "out").exists()


def test_missing_file(tmp_path: Path) -> None:
    done = mobius("inspect", tmp_path / "none.gguf")
    assert done.exit_code == 2
    assert "none.gguf" in done.stderr


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, mobius_cli.app; print([m for m in ('numpy', 'onnx_ir', 'onnxruntime') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_internal_errors_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mobius_cli.commands.inspect.inspect as module

    def fail(*_: object, **__: object) -> bool:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(module, "inspect_model", fail)
    done = mobius("inspect", tmp_path / "x.gguf")
    assert done.exit_code == 1
    assert done.stderr.startswith("error: internal error: ZeroDivisionError: planted\n")


def test_not_finite_weights_are_refused(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "t.gguf", "llama", types="Q8_0", tokenizer="bpe")
    from converters.sources.gguf.file import GgufFile

    with GgufFile.open(path) as source:
        offset = source.tensors["blk.1.ffn_up.weight"].offset
    raw = bytearray(path.read_bytes())
    raw[offset : offset + 2] = np.array([np.inf], np.float16).tobytes()
    path.write_bytes(raw)
    done = mobius("convert", path, "-o", tmp_path / "out")
    assert done.exit_code == 1
    assert "blk.1.ffn_up.weight: the file holds a scale that is not a finite number" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("case", "words"), [
    ("qwen3moe: usual", "heads 4 of 64 (2 key/value), 2 of 6 experts of 256, vocabulary 320"),
    ("gemma4: experts, scaled, gate and up as one", ", feed-forward 160, 3 of 7 experts of 96, vocabulary 320"),
])  # fmt: skip
def test_experts(tmp_path: Path, case: str, words: str) -> None:
    """How many there are and how many a token takes."""
    done = mobius("inspect", write_arch(tmp_path / "t.gguf", all_cases()[case]))
    assert words in " ".join(done.stdout.split())
