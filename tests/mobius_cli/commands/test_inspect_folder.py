"""`mobius inspect FOLDER`: what a converted folder is, from its manifest alone."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import mobius
from tests.support.tiny import write_tiny

MIXED = {"ffn_down": "Q6_K", "attn_v": "Q5_K", "token_embd": "Q8_0", "norm": "F32", ".": "Q4_K"}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file `tiny.gguf` and folders of it."""
    folder = tmp_path_factory.mktemp("inspect")
    extra = {"general.license": "mit"}
    path = write_tiny(folder / "tiny.gguf", "llama", types=MIXED, tokenizer="bpe", extra_metadata=extra)
    for name, options in {"cpu": ("--ep", "cpu"), "half": ("--dtype", "f16"), "cuda": ("--ep", "cuda")}.items():
        done = mobius("convert", path, "-o", folder / name, *options)
        assert done.exit_code == 0, done.stderr
    return folder


def report(folder: Path, *options: str) -> dict[str, Any]:
    done = mobius("inspect", folder, "--json", *options)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_words(base: Path) -> None:
    done = mobius("inspect", base / "cpu")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("tiny llama: llama, ")
    manifest = json.loads((base / "cpu" / "mobius.json").read_text())
    (source,) = manifest["source"]
    assert f"  source     tiny.gguf, {source['bytes']:,} bytes, SHA-256 {source['sha256']}" in lines
    assert "  target     cpu float32, storage fast, matmulnbits, accuracy level 4" in lines
    assert "  license    mit" in lines
    assert "  model      vocabulary 320, context 512" in lines
    assert "  states     2 key, 2 value, float32: 2,048 bytes per token, in place" in lines
    assert any(line.startswith("  written by mobius-cli ") and "onnx-ir" in line for line in lines)
    assert "weights: exact, every one equals the source's bit for bit in float32" in lines
    rows = {line.split()[0]: line for line in lines if line.split() and line.split()[0] in ("Q4_K", "Q6_K")}
    assert "4 bit, block 32 + offset" in rows["Q4_K"] and "8 bit, block 16" in rows["Q6_K"]


def test_the_rest_of_the_folder_is_not_read(base: Path, tmp_path: Path) -> None:
    """Sizes are checked; what is in the files is of no interest."""
    wanted = report(base / "cpu")
    shutil.copytree(base / "cpu", tmp_path / "cpu")
    for path in (tmp_path / "cpu").iterdir():
        if path.name != "mobius.json":
            path.write_bytes(bytes(path.stat().st_size))
    assert report(tmp_path / "cpu") == {**wanted, "folder": str(tmp_path / "cpu")}


def test_json(base: Path) -> None:
    found = report(base / "cpu", "--tensors")
    assert found["bytes"] == sum(path.stat().st_size for path in (base / "cpu").iterdir())
    assert found["ratio"] == round(found["bytes"] / (base / "tiny.gguf").stat().st_size, 4)
    assert [found[key] for key in ("name", "architecture", "license", "exact")] == ["tiny llama", "llama", "mit", True]
    assert found["states"] == {"count": 4, "bytes_per_token": 2048, "fixed_bytes": 0, "in_place": True}
    assert found["target"]["context_length"] == 512
    assert found["tool"]["name"] == "mobius-cli"
    predicted = json.loads(mobius("inspect", base / "tiny.gguf", "--json", "--tensors", "--ep", "cpu").stdout)
    assert found["types"] == predicted["types"]
    tensors = [sorted(side["tensors"], key=lambda tensor: tensor["name"]) for side in (found, predicted)]
    assert tensors[0] == tensors[1]
    assert found["spec"] == predicted["spec"]
    assert found["warnings"] == predicted["warnings"] == []
    assert "tensors" not in report(base / "cpu")


def test_every_tensor_in_words(base: Path) -> None:
    lines = mobius("inspect", base / "cpu", "--tensors").stdout.splitlines()
    (row,) = (line for line in lines if line.startswith(" blk.0.ffn_down.weight "))
    assert row.split()[1:] == ["256", "x", "512", "Q6_K", "8", "bit,", "block", "16"]


def test_what_was_rounded(base: Path) -> None:
    found = report(base / "half")
    seen = json.loads(mobius("inspect", base / "tiny.gguf", "--dtype", "f16", "--json").stdout)
    assert found["exact"] is False
    assert found["roundings"] == seen["roundings"]
    assert found["states"]["bytes_per_token"] == 1024 and found["states"]["in_place"] is False
    words = mobius("inspect", base / "half").stdout
    assert "Q6_K scales: " in words and "a new array each run" in words


def test_warnings(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "t.gguf", "llama", tokenizer="none", n_ctx=9000)
    made = json.loads(mobius("convert", path, "-o", tmp_path / "a", "--json").stdout)
    done = mobius("inspect", tmp_path / "a")
    assert [line.removeprefix("warning: ") for line in done.stderr.splitlines()] == made["warnings"]
    assert len(made["warnings"]) == 2
    assert report(tmp_path / "a")["warnings"] == made["warnings"]


@pytest.mark.parametrize(
    ("options", "named"),
    [(("--ep", "cpu"), "--ep"), (("--storage", "fast"), "--storage"), (("--dequantize",), "--dequantize"),
     (("--dtype", "f16", "--quant-format", "qdq"), "--dtype, --quant-format")],
)  # fmt: skip
def test_what_only_a_file_can_be_asked(base: Path, options: tuple[str, ...], named: str) -> None:
    done = mobius("inspect", base / "cpu", *options)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 2)
    assert f"is converted already: {named}" in done.stderr
    assert "hint: leave out" in done.stderr


def test_folders_that_are_none(base: Path, tmp_path: Path) -> None:
    done = mobius("inspect", tmp_path)
    assert done.exit_code == 2
    assert "has no mobius.json" in done.stderr
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    done = mobius("inspect", tmp_path)
    assert done.exit_code == 2
    assert "Give one of its files: x.gguf" in done.stderr
    shutil.copytree(base / "cpu", tmp_path / "cpu")
    manifest = json.loads((tmp_path / "cpu" / "mobius.json").read_text())
    (tmp_path / "cpu" / "mobius.json").write_text(json.dumps({**manifest, "format": 1}))
    done = mobius("inspect", tmp_path / "cpu")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 2)
    assert "is of an older mobius" in done.stderr
