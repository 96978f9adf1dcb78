"""`mobius run` with a prompt: where it comes from, and how tokens are drawn."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from mobius_cli.app import app
from mobius_cli.runtime.session import OnnxModel
from mobius_cli.runtime.text import TextCodec
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

WISHES = {"general.sampling.temp": 0.9, "general.sampling.top_k": 7, "general.sampling.penalty_repeat": 1.5}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("run")
    for name, keys in {"plain": {}, "wishes": WISHES}.items():
        path = write_tiny(base / f"{name}.gguf", "llama", types="Q8_0", tokenizer="bpe", extra_metadata=keys)
        assert mobius("convert", path, "-o", base / name).exit_code == 0
    return {name: base / name for name in ("plain", "wishes")}


def report(folder: Path, *arguments: Any, given: str | None = None) -> dict[str, Any]:
    words = ["run", str(folder), *map(str, arguments), "-n", "8", "-t", "1", "--json"]
    done = CliRunner().invoke(app, words, input=given)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_prompt_in_four_ways(folders: dict[str, Path]) -> None:
    wanted = report(folders["plain"], "hello\n the")
    assert wanted["prompt_ids"] == TextCodec(folders["plain"]).encode("hello\n the")
    for arguments, given in ((("-p", "hello\n the"), None), (("-",), "hello\n the\n"), ((), "hello\n the\n")):
        assert report(folders["plain"], *arguments, given=given)["tokens"] == wanted["tokens"]


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (("a", "-p", "b"), None, "the prompt is given twice"),
        ((), "\n", "stdin has none"),
        (("", "--raw"), None, "the prompt is empty"),
        (("a", "--temp", "-1"), None, "--temp -1: it must be 0 or more"),
        (("a", "--temp", "nan"), None, "--temp nan"),
        (("a", "--top-p", "0"), None, "--top-p 0: it must be more than 0 and at most 1"),
        (("a", "--min-p", "1.5"), None, "--min-p 1.5"),
        (("a", "--top-k", "-1"), None, "--top-k -1"),
        (("a", "--top-k", "1.5"), None, "top-k"),
        (("a", "--seed", "-1"), None, "seed"),
    ],
)
def test_usage(folders: dict[str, Path], arguments: tuple[str, ...], given: str | None, message: str) -> None:
    done = CliRunner().invoke(app, ["run", str(folders["plain"]), *arguments], input=given)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_greedy_without_wishes(folders: dict[str, Path]) -> None:
    found = report(folders["plain"], "hello")
    ids = found["prompt_ids"]
    assert found["tokens"] == list(OnnxModel(folders["plain"], threads=1).greedy(ids, 8))
    assert found["sampling"] == {"temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
    assert found["seed"] is None


def test_the_wishes_of_the_file(folders: dict[str, Path]) -> None:
    found = report(folders["wishes"], "hello", "--seed", 5)
    assert found["sampling"] == {"temperature": 0.9, "top_k": 7, "top_p": 1.0, "min_p": 0.0}
    assert found["seed"] == 5
    assert report(folders["wishes"], "hello", "--seed", 5)["tokens"] == found["tokens"]
    others = [report(folders["wishes"], "hello", "--seed", seed)["tokens"] for seed in (6, 7, 8)]
    assert any(tokens != found["tokens"] for tokens in others)


def test_options_come_before_the_file(folders: dict[str, Path]) -> None:
    found = report(folders["wishes"], "hello", "--temp", 0.5, "--min-p", 0.1, "--seed", 1)
    assert found["sampling"] == {"temperature": 0.5, "top_k": 7, "top_p": 1.0, "min_p": 0.1}
    cold = report(folders["wishes"], "hello", "--temp", 0)
    assert cold["seed"] is None
    assert cold["tokens"] == report(folders["plain"], "hello")["tokens"]  # the weights are the same


def test_a_limit_alone_means_the_models_own_distribution(folders: dict[str, Path]) -> None:
    found = report(folders["plain"], "hello", "--top-k", 1)
    assert found["sampling"]["temperature"] == 1.0
    assert found["tokens"] == report(folders["plain"], "hello")["tokens"]  # of one token
    assert isinstance(found["seed"], int)


def test_the_note_tells_how_to_get_it_again(folders: dict[str, Path]) -> None:
    done = mobius("run", folders["wishes"], "hello", "-n", 4, "-t", 1)
    assert "general.sampling.penalty_repeat is 1.5, which is not followed" in done.stderr
    seed = done.stderr.rpartition("temperature 0.9, top-k 7, seed ")[2].split("]")[0]
    again = mobius("run", folders["wishes"], "hello", "-n", 4, "-t", 1, "--seed", seed)
    assert again.stdout == done.stdout
    assert "seed" not in mobius("run", folders["plain"], "hello", "-n", 1).stderr


def test_what_ended_it(folders: dict[str, Path]) -> None:
    done = mobius("run", folders["plain"], "h" * 505, "-t", 1, "-n", 20)
    assert "505 prompt tokens" in done.stderr
    assert "7 generated" in done.stderr or "stop token" in done.stderr
    assert "ended by the end of the context" in done.stderr or "stop token" in done.stderr
