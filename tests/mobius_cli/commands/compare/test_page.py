"""The page of `mobius compare`, as a browser reads it."""

from pathlib import Path
from typing import Any

import pytest

from mobius_cli.commands.compare.comparison import Comparison
from mobius_cli.commands.compare.page import page
from mobius_cli.commands.compare.read import read_runs
from tests.mobius_cli.commands.compare.files import FASTER, TESTS, result, timed, written
from tests.support.html import Element, check_bars, check_stands_alone, check_tables, parsed

EVIL = "<script>alert(1)</script> & 'co'"


def made(tmp_path: Path, **results: dict[str, Any]) -> str:
    return page(Comparison(read_runs([written(tmp_path / f"{name}.json", r) for name, r in results.items()])))


def terms(found: Element) -> dict[str, str]:
    return {entry.all("dt")[0].words: entry.all("dd")[0].words for entry in found.all("dl")[0].children}


def test_it_stands_alone_and_escapes(tmp_path: Path) -> None:
    facts = dict.fromkeys(("command", "model_name", "model_type", "backend", "cpu_info", "llama_cpp"), EVIL)
    text = made(tmp_path, a=result(**facts), b=result(FASTER, **facts))
    check_stands_alone(text)
    found = parsed(text)
    assert found.all("h1")[0].words == EVIL
    assert [code.words for code in found.all("code")] == [EVIL] * 2


def test_what_is_the_same_stands_once_and_what_differs_with_each_run(tmp_path: Path) -> None:
    found = parsed(made(tmp_path, base=result(), b=result(FASTER, backend="ORT onnx", command="mobius bench b")))
    assert found.all("title")[0].words == "SmolLM2: 2 runs of mobius bench compared"
    assert found.all(name="kind")[0].words == "llama Q4_1: 2 runs of mobius bench compared"
    same = terms(found)
    assert (same["processor"], same["onnxruntime"], same["threads"]) == ("EPYC", "1.32.0", "2")
    cards = found.all(name="card")
    assert [terms(card) for card in cards] == [
        {"file": f"{tmp_path}/base.json", "backend": "ORT cpu"}, {"file": f"{tmp_path}/b.json", "backend": "ORT onnx"},
    ]  # fmt: skip
    assert [card.all("code")[0].words for card in cards] == ["mobius bench smol --json", "mobius bench b"]
    assert not set(same) & set(terms(cards[0]))


def test_table(tmp_path: Path) -> None:
    found = parsed(made(tmp_path, base=result(), b=result(FASTER)))
    check_tables(found)
    rows = [[cell.words for cell in row.children] for row in found.all("table")[0].all("tr")]
    assert rows == [
        ["test", "base", "b"],
        ["pp512", "600.0 ± 6.0", "900.0 ± 9.0 1.50 ×"],
        ["pp512, llama.cpp", "300.0 ± 3.0", "300.0 ± 3.0 1.00 ×"],
        ["tg64", "100.0 ± 2.0", "50.00 ± 60.00 0.50 ×"],
        ["tg64, llama.cpp", "100.0 ± 1.0", "90.00 ± 1.00 0.90 ×"],
        ["pp512 @\u00a0d256", "–", "450.0 ± 4.5"],
    ]


def test_bars(tmp_path: Path) -> None:
    """Prompts end at 909, generation at 110: a whisker that would begin at -10 begins at 0."""
    found = parsed(made(tmp_path, base=result(), b=result(FASTER)))
    check_bars(found)
    assert [fill.percent("width") for fill in found.all(name="fill")] == [66.01, 99.01, 49.5, 90.91, 45.45]
    assert [mark.percent("left") for mark in found.all(name="mark")] == [33.0, 33.0, 90.91, 81.82]
    last = found.all(name="whisker")[-1]
    assert (last.percent("left"), last.percent("width")) == (0, 100)
    assert [bar.children[0].words for bar in found.all(name="bar")][:2] == ["base", "b"]
    assert found.words.count("not measured") == 2  # the bar, and the key of the table


def test_without_llama_cpp_there_is_no_mark(tmp_path: Path) -> None:
    alone = [timed(8, 0, 0, (5.0, 0.0), None)]
    found = parsed(made(tmp_path, a=result(alone, llama_cpp=None), b=result(alone, llama_cpp=None)))
    assert not found.all(name="mark") and not found.all(name="mark-key") and not found.all(name="whisker")
    assert "llama.cpp" not in found.all("main")[0].words


@pytest.mark.parametrize(
    ("names", "heading"), [(("A", "B"), "A and B"), (("A" * 50, "B" * 50), "2 models"), (("A", "A"), "A")]
)
def test_heading(tmp_path: Path, names: tuple[str, str], heading: str) -> None:
    a, b = (result(TESTS, model_name=name) for name in names)
    found = parsed(made(tmp_path, a=a, b=b))
    assert found.all("h1")[0].words == heading
    notes = [note.words for note in found.all(name="warning")]
    assert notes == ([] if len(set(names)) == 1 else ["the model differs: the ratios compare it too. Note:"])
