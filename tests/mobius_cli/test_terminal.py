"""What a terminal of 80 columns shows: whole tables, and bars that count what they say."""

import re
from pathlib import Path

import pytest

from tests.support.cli import mobius
from tests.support.terminal import on_terminal
from tests.support.tiny import write_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("terminal") / "tiny.gguf"
    write_tiny(path, "llama", types="Q8_0", tokenizer="bpe")
    assert mobius("convert", path, "-o", path.parent / "onnx").exit_code == 0
    return path


@pytest.mark.parametrize("what", ["archs", "quants", "targets"])
def test_lists_fit_and_lose_nothing(what: str) -> None:
    code, text = on_terminal("list", what)
    assert code == 0
    assert max(map(len, text.splitlines())) <= 80
    shown = text.split()
    assert {word for word in mobius("list", what).stdout.split() if "─" not in word} <= set(shown)


def test_in_a_pipe_a_row_is_a_line() -> None:
    from mobius_cli.commands.list import TABLES

    lines = mobius("list", "targets").stdout.splitlines()
    assert len(lines) == 2 + len(TABLES["targets"]()) + 2
    assert max(map(len, lines)) > 80


def bars(text: str) -> str:
    """Without colours and moves of the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_converts_bar_reaches_its_end(tiny: Path, tmp_path: Path) -> None:
    code, text = on_terminal("convert", tiny, "-o", tmp_path / "a", columns=120)
    assert code == 0
    done, total = re.findall(r"writing .* ([0-9.]+)/([0-9.]+) [kM]B +\S+ +left", bars(text))[-1]
    assert done == total


def test_bench_counts_samples(tiny: Path) -> None:
    code, text = on_terminal("bench", tiny.parent / "onnx", "-p", 4, "-n", 0, "-r", 1, columns=120)
    assert code == 0
    assert re.search(r"measuring pp4 .* 2/2 +samples", bars(text))


def test_json_has_no_bar(tiny: Path, tmp_path: Path) -> None:
    code, text = on_terminal("convert", tiny, "-o", tmp_path / "a", "--json")
    assert code == 0
    assert text.startswith("{") and text.count("\n") == 1
