"""The page of `mobius bench`, as a browser reads it."""

import pytest

from mobius_cli.commands.bench.page import page
from mobius_cli.commands.bench.rows import Row, Workload
from tests.mobius_cli.commands.bench.runs import BESIDE, FACTS, GPU, ROWS
from tests.support.html import Element, check_bars, check_stands_alone, check_tables, parsed


def terms(found: Element) -> dict[str, str]:
    return {entry.all("dt")[0].words: entry.all("dd")[0].words for entry in found.all("dl")[0].children}


def test_it_stands_alone() -> None:
    check_stands_alone(page(ROWS, FACTS | BESIDE))


def test_heading_and_command() -> None:
    """What the user named is shown as it is, and is no markup."""
    found = parsed(page(ROWS, FACTS | BESIDE))
    assert found.all("h1")[0].words == "<script>alert(1)</script> & co"
    assert found.all("title")[0].words == "<script>alert(1)</script> & co, llama <Q4_1>: mobius bench"
    assert found.all(name="kind")[0].words == "llama <Q4_1>"
    assert [code.words for code in found.all("code")] == ["mobius bench 'a b' -o <p>.html"]


def test_constants_stand_once_in_the_header() -> None:
    found = parsed(page(ROWS, FACTS | BESIDE | GPU))
    assert terms(found) == {
        "parameters": "1.50 B", "size": "1.50 GiB", "folder": "folder/<b>&'\"", "backend": "ORT cuda", "threads": "2",
        "processor": "A & B", "GPU": "NVIDIA X", "onnxruntime": "1.32.0",
        "llama.cpp": "b7-abc, llama-bench CPU, -ngl 0", "mobius": "0.1.0", "load time": "0.31 s",
        "peak memory": "291 MB", "GPU memory": "812 MB", "samples": "2 per test", "date": "2026-01-02 03:04:05 UTC",
    }  # fmt: skip
    assert list(terms(parsed(page(ROWS, FACTS | {"peak_host_mb": None})))).count("peak memory") == 0


def test_the_table_has_what_varies() -> None:
    found = parsed(page(ROWS, FACTS | BESIDE))
    check_tables(found)
    rows = [[cell.words for cell in row.children] for row in found.all("table")[0].all("tr")]
    assert rows == [
        ["test", "ONNX Runtime", "llama.cpp", "ratio", "first token, ms"],
        ["pp512", "1,012 ± 17", "506.0 ± 8.5", "2.00", "506.0"],
        ["pp512 @\u00a0d9", "500.0 ± 0.0", "–", "–", "1,024"],
        ["tg64", "125.0 ± 35.4", "250.0 ± 0.0", "0.50", "–"],
    ]


def test_one_engine_and_no_prompt() -> None:
    found = parsed(page([Row(Workload(0, 64, 0), [100.0, 150.0])], FACTS))
    assert [cell.words for cell in found.all("thead")[0].all("th")] == ["test", "ONNX Runtime"]
    assert "Prompt processing" not in found.words
    assert "llama.cpp" not in found.all("main")[0].words


def test_bars_are_in_proportion() -> None:
    """Each panel ends at its longest mean plus deviation: 1028.97 for prompts, 250 for generation."""
    found = parsed(page(ROWS, FACTS | BESIDE))
    check_bars(found)
    bars = {
        (test.all("h3")[0].own.strip(), bar.children[0].words): bar.all(name="fill")[0].percent("width")
        for test in found.all(name="test")
        for bar in test.all(name="bar")
        if bar.all(name="fill")
    }
    assert bars == {
        ("pp512", "ONNX Runtime"): 98.35,
        ("pp512", "llama.cpp"): 49.18,
        ("pp512 @\u00a0d9", "ONNX Runtime"): 48.59,
        ("tg64", "ONNX Runtime"): 50.0,
        ("tg64", "llama.cpp"): 100.0,
    }
    assert [[small.words for small in test.all("h3")[0].all("small")] for test in found.all(name="test")] == [
        ["2.00 × llama.cpp"],
        [],
        ["0.50 × llama.cpp"],
    ]
    assert [small.words for small in found.all(name="test")[1].all("small")] == ["± 0.0", "not measured"]
    (whisker,) = found.all(name="test")[2].all(name="whisker")
    assert (whisker.percent("left"), whisker.percent("width")) == (35.86, 28.28)  # 89.64 and 160.36 of 250


def test_a_whisker_longer_than_its_bar_ends_at_zero() -> None:
    rows = [Row(Workload(8, 0, 0), [1.0, 1.0, 1.0, 1.0, 200.0]), Row(Workload(9, 0, 0), [1.0])]
    found = parsed(page(rows, FACTS))
    check_bars(found)
    (whisker,) = found.all(name="whisker")
    assert (whisker.percent("left"), whisker.percent("width")) == (0, 100)


@pytest.mark.parametrize(("rows", "noisy"), [(ROWS, ["tg64 (ONNX Runtime)"]), (ROWS[:2], [])])
def test_noise_is_told(rows: list[Row], noisy: list[str]) -> None:
    words = [found.words for found in parsed(page(rows, FACTS | BESIDE)).all(name="warning")]
    assert words == [f"The standard deviation is more than 10% of the mean: {name}. Noisy." for name in noisy]


def test_the_chart_has_words_for_those_who_do_not_see_it() -> None:
    charts = parsed(page(ROWS, FACTS)).all(name="chart")
    assert [chart.attributes["role"] for chart in charts] == ["img", "img"]
    assert all(chart.attributes["aria-label"].startswith("Bars of the speeds in the table below") for chart in charts)
