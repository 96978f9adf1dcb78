"""Exit codes: 2 for what the user got wrong, 1 for what a model is refused for; and errors as JSON."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from mobius_cli import errors
from mobius_cli.app import app
from repack.errors import MobiusError
from tests.support.cli import mobius
from tests.support.tiny import SMALL, write_tiny


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`in.gguf`, its folder `d`, an empty folder `empty`, and `odd.gguf`, which is refused."""
    base = tmp_path_factory.mktemp("errors")
    write_tiny(base / "in.gguf", "llama", **SMALL)
    write_tiny(base / "odd.gguf", "llama", extra_metadata={"llama.logit_scale": 2.0}, **SMALL)
    assert mobius("convert", base / "in.gguf", "-o", base / "d").exit_code == 0
    (base / "empty").mkdir()
    return base


USAGE = """
bogus
convert
convert in.gguf --bogus
convert in.gguf -o new --ep tpu
convert in.gguf -o new --dtype int7
convert in.gguf -o new --dtype bf16
convert in.gguf -o new --ep cuda --dtype f32
convert in.gguf -o new --storage tiny
convert in.gguf -o new --storage small
convert in.gguf -o new --quant-format gguf
convert in.gguf -o new --ep onnx --quant-format matmulnbits
convert in.gguf -o new --accuracy-level 4
convert in.gguf -o new --ep cpu --accuracy-level 7
convert in.gguf -o new --ep cpu --accuracy-level x
convert in.gguf -o new --context-length 0
convert in.gguf -o new --context-length 65
convert in.gguf -o new --dequantize --keep-quantized
convert in.gguf -o d
convert none.gguf -o new
convert empty -o new
build --gguf in.gguf --output new --ep tpu
inspect in.gguf --ep tpu
inspect in.gguf --dtype x
inspect in.gguf --storage small
inspect none.gguf
inspect empty
inspect d --ep cpu
run d
run d -p x --ep tpu
run d -p x --raw --chat-template y
run d -p x --raw --system y
run d -p x -n 0
run d -p x -t -1
run in.gguf -p x
run d -p xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
verify d
verify in.gguf --gguf in.gguf
verify d --gguf none.gguf
verify d --gguf empty
verify d --gguf in.gguf --ep tpu
verify d --gguf in.gguf --llama-server empty
verify d --gguf in.gguf --write-reference empty
verify d --gguf in.gguf --write-reference none/r.json
verify d --gguf in.gguf -p x -n 100
verify d --gguf in.gguf -n 0
verify d --gguf in.gguf --text none.txt
verify d --gguf in.gguf --text-tokens 1 --text in.gguf
verify d --gguf in.gguf --prompt-file empty
verify d --gguf in.gguf --exact --llama-server http://localhost:1
verify d --reference empty
verify d --reference none.json --gguf in.gguf
bench d -o sql
bench d --ep tpu
bench d -p x
bench d -p 0 -n 0
bench d -p 65
bench d -r 0
bench d --gguf none.gguf
bench in.gguf
tokenize none x
tokenize d x --compare
tokenize d x --compare --gguf none.gguf
tokenize empty x
list colours
list
"""


@pytest.mark.parametrize("line", USAGE.strip().splitlines())
def test_usage_is_2_and_with_json_an_object(here: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    done = mobius(*line.split())
    assert done.exit_code == 2, done.stderr
    assert not done.stdout
    as_json = mobius(*line.split(), "--json")
    assert as_json.exit_code == 2
    assert sorted(path.name for path in here.iterdir()) == ["d", "empty", "in.gguf", "odd.gguf"]
    (error,) = json.loads(as_json.stdout).values()
    assert error.keys() == {"message", "hint", "exit_code"}
    assert error["exit_code"] == 2
    assert error["hint"]
    assert error["message"] in " ".join(as_json.stderr.split())
    if "-o sql" not in line:  # where --json itself is another error
        assert as_json.stderr == done.stderr


def test_without_a_prompt_there_is_nothing_to_say(here: Path) -> None:
    assert mobius("run", here / "d", "-p", "", "--raw").exit_code == 2


def test_the_refusal_of_a_model_is_1(here: Path) -> None:
    done = mobius("convert", here / "odd.gguf", "-o", here / "new", "--json")
    assert done.exit_code == 1
    error = json.loads(done.stdout)["error"]
    assert error["exit_code"] == 1
    assert done.stderr.splitlines() == [f"error: {error['message']}", f"hint: {error['hint']}"]
    assert "logit_scale" in error["message"]


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "not enough memory"),
        (ModuleNotFoundError("no", name="onnxruntime"), 1, "a package is missing: onnxruntime"),
        (RuntimeError("one\ntwo"), 1, "internal error: RuntimeError: one two"),
        (MobiusError("one\ntwo"), 1, "one two"),
    ],
)
def test_every_exception(
    error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MOBIUS_DEBUG", raising=False)

    @errors.reported
    def command(as_json: bool = False) -> None:
        raise error

    for as_json in (False, True):
        with pytest.raises(typer.Exit) as caught:
            command(as_json=as_json)
        assert caught.value.exit_code == code
        found = capsys.readouterr()
        assert found.err.startswith(f"error: {words}\n")
        if as_json:
            assert json.loads(found.out)["error"]["message"] == words
        else:
            assert not found.out


def test_a_word_that_looks_like_the_option(here: Path) -> None:
    """Usage errors of one command are an object only where that command was given --json."""
    done = mobius("list", "colours")
    assert not done.stdout


def test_json_keys_are_snake_case(here: Path) -> None:
    """But for what names data: files, packages, kinds of numbers, keys of the GGUF."""
    lines = [("list", what) for what in ("archs", "quants", "targets")]
    lines += [("inspect", here / "in.gguf", "--tensors"), ("inspect", here / "d", "--tensors"),
              ("tokenize", here / "d", "x"), ("run", here / "d", "-p", "x", "-n", 2),
              ("bench", here / "d", "-p", 2, "-n", 2, "-r", 1)]  # fmt: skip

    def keys(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(keys, value))
        if not isinstance(value, dict):
            return set()
        named = {"files", "packages", "roundings", "metadata"}
        return set(value).union(*(keys(inner) for name, inner in value.items() if name not in named))

    for line in lines:
        done = mobius(*line, "--json")
        assert done.exit_code == 0, done.stderr
        wrong = {key for key in keys(json.loads(done.stdout)) if not re.fullmatch("[a-z0-9_]+", key)}
        assert not wrong, line


def test_every_command_has_json() -> None:
    commands: Any = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        assert any("--json" in parameter.opts for parameter in command.params), name


def test_in_a_process_of_its_own(here: Path) -> None:
    """Standard output has the object and nothing else, also where typer ends the process itself."""
    done = subprocess.run(
        [sys.executable, "-m", "mobius_cli", "list", "--json", "--bogus"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["message"] == "No such option: --bogus"
    assert "No such option: --bogus" in done.stderr
