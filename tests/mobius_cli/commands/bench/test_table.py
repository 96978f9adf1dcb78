"""Tables, records and picture of `mobius bench`, from rows that were written by hand."""

import csv
import io
import json
import re
from typing import Any
from xml.etree import ElementTree

from mobius_cli.commands.bench.bench import WRITERS
from mobius_cli.commands.bench.rows import Row, Workload
from tests.mobius_cli.commands.bench.runs import BESIDE, FACTS, GPU, ROWS


def table(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]


def test_markdown_alone() -> None:
    text = WRITERS["md"](ROWS, FACTS)
    lines = table(text)
    assert lines[0] == ["model", "size", "params", "backend", "threads", "test", "t/s", "ttft ms"]
    assert [re.sub("-+", "-", cell) for cell in lines[1]] == ["-", "-", "-", "-", "-:", "-:", "-:", "-:"]
    shared = ["llama <Q4_1>", "1.50 GiB", "1.50 B", "ORT cpu", "2"]
    assert lines[2] == [*shared, "pp512", "1012.00 ± 16.97", "506.00"]
    assert lines[3] == [*shared, "pp512 @ d9", "500.00 ± 0.00", "1024.00"]
    assert lines[4] == [*shared, "tg64", "125.00 ± 35.36", "-"]
    assert len({len(line) for line in text.splitlines() if "|" in line}) == 1
    assert text.splitlines()[-2:] == [
        "",
        "onnxruntime 1.32.0, loaded in 0.31 s, peak memory of the process 291 MB",
    ]


def test_markdown_beside_on_a_gpu() -> None:
    text = WRITERS["md"](ROWS, FACTS | BESIDE | GPU)
    lines = table(text)
    assert lines[0][4:] == ["gpu", "test", "t/s", "llama.cpp t/s", "ratio", "ttft ms"]
    assert lines[2][3:] == ["ORT cuda", "NVIDIA X", "pp512", "1012.00 ± 16.97", "506.00 ± 8.49", "2.00", "506.00"]
    assert lines[3][-3:] == ["-", "-", "1024.00"]
    assert lines[4][-3:] == ["250.00 ± 0.00", "0.50", "-"]
    assert text.splitlines()[-1] == (
        "onnxruntime 1.32.0, loaded in 0.31 s, peak memory of the process 291 MB, on the device 812 MB"
        "; llama.cpp b7-abc (llama-bench CPU, -ngl 0)"
    )


def test_unknown_memory_is_not_told() -> None:
    text = WRITERS["md"](ROWS, FACTS | {"peak_host_mb": None})
    assert text.endswith("\nonnxruntime 1.32.0, loaded in 0.31 s")


def test_json_and_its_lines_hold_the_same() -> None:
    records = json.loads(WRITERS["json"](ROWS, FACTS | BESIDE))
    assert records == [json.loads(line) for line in WRITERS["jsonl"](ROWS, FACTS | BESIDE).splitlines()]
    assert [r["avg_ts"] for r in records] == [1012, 500, 125]
    assert [r["ttft_ms"] for r in records] == [506, 1024, None]
    assert {(r["load_s"], r["peak_host_mb"], r["peak_device_mb"], r["onnxruntime"]) for r in records} == {
        (0.314, 291.4, None, "1.32.0")
    }


def test_csv() -> None:
    found = list(csv.DictReader(io.StringIO(WRITERS["csv"](ROWS, FACTS | BESIDE))))
    assert [r["n_depth"] for r in found] == ["0", "9", "0"]
    assert [r["ratio"] for r in found] == ["2.0", "", "0.5"]
    assert found[0]["model_filename"] == "folder/<b>&'\""
    assert not any("samples" in name for name in found[0])


SVG = "{http://www.w3.org/2000/svg}"


def bars(rows: list[Row], facts: dict[str, Any]) -> dict[str, float]:
    """Width of each bar by its tooltip, without the numbers."""
    root = ElementTree.fromstring(WRITERS["svg"](rows, facts))
    found = {}
    for rectangle in root.iter(f"{SVG}rect"):
        if (tip := rectangle.find(f"{SVG}title")) is not None:
            found[str(tip.text).partition(":")[0]] = float(rectangle.attrib["width"])
    return found


def test_bars_are_in_proportion() -> None:
    """Each panel reaches 500 pixels at its longest mean plus deviation: 1028.97 for prompts, 250 for generation."""
    assert bars(ROWS, FACTS | BESIDE) == {
        "pp512, ONNX Runtime": 491.8,
        "pp512, llama.cpp": 245.9,
        "pp512 @ d9, ONNX Runtime": 243.0,
        "tg64, ONNX Runtime": 250.0,
        "tg64, llama.cpp": 500.0,
    }


def test_the_picture_says_what_it_shows() -> None:
    root = ElementTree.fromstring(WRITERS["svg"](ROWS, FACTS | BESIDE))
    words = [str(text.text) for text in root.iter(f"{SVG}text")]
    assert words[0] == "<script>alert(1)</script> & co"
    line = "llama <Q4_1>, 1.50 GiB, 1.50 B parameters, ORT cpu, 2 threads, onnxruntime 1.32.0, llama.cpp b7-abc"
    assert line in words
    assert [w for w in words if "±" in w] == [
        "1012.00 ± 16.97", "506.00 ± 8.49", "500.00 ± 0.00", "125.00 ± 35.36", "250.00 ± 0.00",
    ]  # fmt: skip
    assert words.count("not measured") == 1
    height = float(root.attrib["height"])
    assert all(0 < float(t.attrib["y"]) < height for t in root.iter(f"{SVG}text"))


def test_a_picture_of_one_engine() -> None:
    text = WRITERS["svg"](ROWS[:1], FACTS)
    assert list(bars(ROWS[:1], FACTS)) == ["pp512, ONNX Runtime"]
    assert "llama.cpp" not in text
    assert "generation" not in text


def test_no_whisker_of_the_picture_is_below_zero() -> None:
    """Bars begin at 130 pixels; the deviation of the first is five times its mean."""
    rows = [Row(Workload(8, 0, 0), [1.0, 1.0, 1.0, 1.0, 200.0]), Row(Workload(9, 0, 0), [1.0])]
    root = ElementTree.fromstring(WRITERS["svg"](rows, FACTS))
    begins = [float(line.attrib["x1"]) for line in root.iter(f"{SVG}line")]
    assert min(begins) == 130.0
    assert all(begin <= float(line.attrib["x2"]) for begin, line in zip(begins, root.iter(f"{SVG}line"), strict=True))


def test_a_long_name_leaves_room_for_the_legend() -> None:
    root = ElementTree.fromstring(WRITERS["svg"](ROWS, FACTS | BESIDE | {"model_name": "x" * 200}))
    words = [str(text.text) for text in root.iter(f"{SVG}text")]
    assert words[0] == "x" * 47 + "…"
