"""`mobius convert` and `build`: the folder, its bytes, and what happens when something is in the way."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import onnx
import pytest

from tests.support.cli import contents, mobius
from tests.support.split import write_split
from tests.support.tiny import write_tiny

FILES = {
    "config.json", "generation_config.json", "genai_config.json", "mobius.json", "model.onnx", "model.onnx_data",
    "tokenizer.json", "tokenizer_config.json", "README.md",
}  # fmt: skip
MIXED = {"ffn_down": "Q6_K", "attn_v": "Q5_K", "ffn_gate": "Q5_1", "token_embd": "Q8_0", "norm": "F32", ".": "Q4_K"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    return write_tiny(folder / "tiny.gguf", "llama", types=MIXED, tokenizer="bpe", n_vocab=320)


def test_folder_is_complete_and_repeatable(tiny: Path, tmp_path: Path) -> None:
    done = mobius("convert", tiny, "-o", tmp_path / "a", "--ep", "cpu")
    assert done.exit_code == 0, done.stderr
    assert "weights: exact" in done.stdout
    assert set(contents(tmp_path / "a")) == FILES
    again = mobius("build", "--gguf", tiny, "--keep-quantized", "--output", tmp_path / "b", "--ep", "cpu")
    assert again.exit_code == 0, again.stderr
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_manifest_and_json(tiny: Path, tmp_path: Path) -> None:
    done = mobius("convert", tiny, "-o", tmp_path / "a", "--json")
    report = json.loads(done.stdout)
    assert report["exact"] is True
    assert report["folder_bytes"] == sum(p.stat().st_size for p in (tmp_path / "a").iterdir())
    manifest = json.loads((tmp_path / "a" / "mobius.json").read_text())
    assert manifest["source"][0]["file"] == "tiny.gguf"
    assert len(manifest["source"][0]["sha256"]) == 64
    by_name = {t["name"]: t for t in manifest["tensors"]}
    assert set(by_name) == {t.name for t in gguf.GGUFReader(tiny).tensors}
    assert by_name["blk.0.ffn_down.weight"]["format"] == "int8, block 16"
    assert by_name["blk.0.attn_q.weight"]["format"] == "int4, block 32 + offset"
    assert all(t["exact"] for t in manifest["tensors"])


def test_dequantized_weights_are_the_references(tiny: Path, tmp_path: Path) -> None:
    done = mobius("convert", tiny, "-o", tmp_path / "a", "--dequantize")
    assert done.exit_code == 0, done.stderr
    model = onnx.load(str(tmp_path / "a" / "model.onnx"))
    stored = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
    for tensor in gguf.GGUFReader(tiny).tensors:
        wanted = gguf.dequantize(tensor.data, tensor.tensor_type).reshape(tuple(reversed(tensor.shape.tolist())))
        if "attn_q." in tensor.name or "attn_k." in tensor.name:  # rows (2 i, 2 i + 1) become (i, i + 32)
            heads = len(wanted) // 64
            wanted = wanted.reshape(heads, 32, 2, -1).transpose(0, 2, 1, 3).reshape(wanted.shape)
        assert np.array_equal(stored[tensor.name], wanted), tensor.name


def test_float16_says_what_it_rounds(tiny: Path, tmp_path: Path) -> None:
    done = mobius("convert", tiny, "-o", tmp_path / "a", "--dtype", "f16")
    assert done.exit_code == 0, done.stderr
    assert "Q6_K scales:" in done.stdout
    assert "rounded, at most" in done.stdout


def test_float16_overflow_is_refused(tmp_path: Path) -> None:
    raw = np.zeros((320, 256), np.float32) + 7e4
    extra = {"token_embd.weight": raw}
    path = write_tiny(tmp_path / "t.gguf", "llama", tokenizer="bpe", extra_tensors=extra)
    done = mobius("convert", path, "-o", tmp_path / "a", "--dtype", "f16")
    assert done.exit_code == 1
    assert "token_embd.weight: a weight of 7e+04 is too large for float16" in done.stderr
    assert not (tmp_path / "a").exists()


def test_existing_folders(tiny: Path, tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.mkdir()
    assert mobius("convert", tiny, "-o", target).exit_code == 0  # an empty folder is no loss
    refused = mobius("convert", tiny, "-o", target)
    assert refused.exit_code == 2
    assert "--force" in refused.stderr
    (target / "model.onnx_data").write_bytes(b"old")
    assert mobius("convert", tiny, "-o", target, "--force").exit_code == 0
    assert (target / "model.onnx_data").stat().st_size > 1000
    other = tmp_path / "home"
    other.mkdir()
    (other / "diary.txt").write_text("dear diary")
    for arguments in ((), ("--force",)):
        refused = mobius("convert", tiny, "-o", other, *arguments)
        assert refused.exit_code == 2
        assert "not a folder that mobius wrote" in refused.stderr
    assert (other / "diary.txt").exists()
    file = tmp_path / "file"
    file.write_text("x")
    assert mobius("convert", tiny, "-o", file, "--force").exit_code == 2


def test_split_files_convert_to_the_same_model(tiny: Path, tmp_path: Path) -> None:
    parts = write_split(tiny, tmp_path / "split.gguf", 7)
    assert len(parts) == 3
    assert mobius("convert", tiny, "-o", tmp_path / "whole").exit_code == 0
    for index, part in enumerate(parts):
        done = mobius("convert", part, "-o", tmp_path / f"out{index}")
        assert done.exit_code == 0, done.stderr
        data = (tmp_path / f"out{index}" / "model.onnx_data").read_bytes()
        assert data == (tmp_path / "whole" / "model.onnx_data").read_bytes()
    parts[1].unlink()
    missing = mobius("convert", parts[0], "-o", tmp_path / "no")
    assert missing.exit_code == 2
    assert parts[1].name in missing.stderr


def test_no_space_is_found_before_writing(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 99, 1))
    done = mobius("convert", tiny, "-o", tmp_path / "a")
    assert done.exit_code == 1
    assert "not enough space" in done.stderr
    assert list(tmp_path.iterdir()) == []


def child(tiny: Path, folder: Path, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mobius_cli", "convert", str(tiny), "-o", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_disk_full_while_writing(tiny: Path, tmp_path: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    process = child(tiny, tmp_path / "a", preexec_fn=limit)
    _, words = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "not enough space" in words
    assert "Traceback" not in words
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_stopped_runs_leave_nothing_that_looks_finished(tiny: Path, tmp_path: Path, number: int, code: int) -> None:
    """Stopped while the temporary folder exists; a killed run may leave that, under a name that says so."""
    process = child(tiny, tmp_path / "a")
    limit = time.monotonic() + 30
    while not any(tmp_path.iterdir()) and time.monotonic() < limit and process.poll() is None:
        time.sleep(0.002)
    os.kill(process.pid, number)
    _, words = process.communicate(timeout=60)
    assert "Traceback" not in words
    if process.returncode == 0:  # it was quicker
        assert set(contents(tmp_path / "a")) == FILES
        return
    assert process.returncode == code, words
    assert not (tmp_path / "a").exists()
    left = [p.name for p in tmp_path.iterdir()]
    assert left == [] or (number == signal.SIGKILL and left[0].startswith(".a.partial-"))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--dequantize", "--keep-quantized"], 2, "contradict"),
        (["--ep", "tpu"], 2, "choose one of: onnx, cpu, cuda"),
        (["--dtype", "bf16"], 2, "no bfloat16 kernels"),
        (["--storage", "tiny"], 2, "fast, small"),
        (["--ep", "cpu", "--accuracy-level", "7"], 2, "choose 4"),
        (["--ep", "cpu", "--quant-format", "gguf"], 2, "matmulnbits, qdq"),
        (["--quant-format", "matmulnbits", "--ep", "onnx"], 2, "name a provider"),
        (["--storage", "small"], 2, "makes no sense behind DequantizeLinear"),
        (["--context-length", "0"], 2, "within 1 and the model's 512"),
        (["--context-length", "100000"], 2, "within 1 and the model's 512"),
        (["--no-such-option"], 2, "No such option"),
    ],
)
def test_refused_choices(tiny: Path, tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    done = mobius("convert", tiny, "-o", tmp_path / "a", *arguments)
    assert done.exit_code == code
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []
