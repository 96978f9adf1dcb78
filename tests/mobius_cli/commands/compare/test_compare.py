"""`mobius compare`: tables, ratios, what is the same and what differs, warnings, forms and files."""

import csv
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mobius_cli.commands.compare.comparison import Comparison
from mobius_cli.commands.compare.read import read_runs
from tests.mobius_cli import test_help
from tests.mobius_cli.commands.compare.files import FASTER, TESTS, result, rows, written
from tests.mobius_cli.test_start_up import HEAVY, imported
from tests.support.cli import mobius
from tests.support.terminal import on_terminal


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    first = written(tmp_path / "base.json", result())
    return first, written(tmp_path / "cuda.json", rows(FASTER, backend="ORT onnx", n_threads=4))


def test_tables(two: tuple[Path, Path]) -> None:
    done = mobius("compare", *two)
    assert done.exit_code == 0
    text = done.stdout
    assert text.splitlines()[0] == (
        "model SmolLM2; type llama Q4_1; parameters 134.52 M; size 98.43 MiB; folder smol; processor EPYC; "
        "onnxruntime 1.32.0; llama.cpp b7-abc, llama-server -ngl 0; mobius 0.1.0; load time 0.25 s; "
        "peak memory 290 MB; samples 2 per test; date 2026-01-02 03:04:05 UTC"
    )
    table = [line.split() for line in text.splitlines()[1:] if line.strip() and "─" not in line]
    assert table == [
        ["base", "cuda"],
        ["file", str(two[0]), str(two[1])],
        ["backend", "ORT", "cpu", "ORT", "onnx"],
        ["threads", "2", "4"],
        ["tokens/s", "base", "cuda", "ratio"],
        ["pp512", "600.0", "±", "6.0", "900.0", "±", "9.0", "1.50"],
        ["pp512,", "llama.cpp", "300.0", "±", "3.0", "300.0", "±", "3.0", "1.00"],
        ["tg64", "100.0", "±", "2.0", "50.00", "±", "60.00", "0.50"],
        ["tg64,", "llama.cpp", "100.0", "±", "1.0", "90.00", "±", "1.00", "0.90"],
        ["pp512", "@", "d256", "–", "450.0", "±", "4.5", "–"],
    ]
    assert done.stderr == "warning: samples vary by more than 10% in cuda (tg64)\n"


def test_a_terminal_of_80_columns() -> None:
    """Of files whose paths are no longer than that: a path stays whole."""
    with TemporaryDirectory() as short:
        paths = [written(Path(short) / f"{name}.json", result(FASTER)) for name in "abcd"]
        code, text = on_terminal("compare", *paths)
    assert code == 0
    assert not [line for line in text.splitlines() if len(line) > 80 and "warning" not in line]
    assert text.count("900.0 ± 9.0") == 4


@pytest.mark.parametrize(
    ("changed", "warning"),
    [
        ({"backend": "ORT cuda", "n_threads": 8, "onnxruntime": "2", "model_size": 1, "load_s": 2.0}, []),
        ({"model_name": "Gemma"}, ["the model differs: the ratios compare it too"]),
        ({"model_type": "llama Q8_0"}, ["the model differs: the ratios compare it too"]),
        ({"cpu_info": "Xeon"}, ["the machine differs: the ratios compare it too"]),
        ({"gpu_info": "H200", "model_n_params": 1}, ["the model and the machine differ: the ratios compare them too"]),
    ],
)
def test_other_models_and_machines(tmp_path: Path, changed: dict[str, object], warning: list[str]) -> None:
    paths = [written(tmp_path / "a.json", result()), written(tmp_path / "b.json", result(**changed))]
    assert Comparison(read_runs(paths)).warnings == warning
    done = mobius("compare", *paths)
    assert done.stderr.splitlines() == [f"warning: {text}" for text in warning]
    assert done.exit_code == 0


def test_json(two: tuple[Path, Path]) -> None:
    done = mobius("compare", *two, "--json")
    found = json.loads(done.stdout)
    assert [(run["file"], run["label"], run["n_threads"]) for run in found["runs"]] == [
        (str(two[0]), "base", 2), (str(two[1]), "cuda", 4),
    ]  # fmt: skip
    assert found["tests"][1] == {
        "test": "pp512", "n_prompt": 512, "n_gen": 0, "n_depth": 0, "engine": "llama.cpp",
        "results": [
            {"avg_ts": 300.0, "stddev_ts": 3.0, "ratio": 1.0}, {"avg_ts": 300.0, "stddev_ts": 3.0, "ratio": 1.0},
        ],
    }  # fmt: skip
    assert found["tests"][-1]["results"] == [None, {"avg_ts": 450.0, "stddev_ts": 4.5, "ratio": None}]
    assert found["warnings"] == ["samples vary by more than 10% in cuda (tg64)"]


def test_csv(two: tuple[Path, Path]) -> None:
    found = list(csv.DictReader(mobius("compare", *two, "-o", "csv").stdout.splitlines()))
    assert len(found) == 10
    assert found[1] == {
        "file": str(two[1]), "test": "pp512", "n_prompt": "512", "n_gen": "0", "n_depth": "0",
        "engine": "ONNX Runtime", "avg_ts": "900.0", "stddev_ts": "9.0", "ratio": "1.5",
    }  # fmt: skip
    assert (found[8]["avg_ts"], found[8]["ratio"]) == ("", "")


def test_markdown_means_itself(tmp_path: Path) -> None:
    """Whatever a model is called, a table keeps its columns."""
    names = [written(tmp_path / f"{n}.json", result(model_name=f"a|b*{n}*\n<i>\x1b[0m")) for n in (1, 2)]
    text = mobius("compare", *names, "-o", "md").stdout
    assert "\x1b" not in text
    assert "| model | a\\|b\\*1\\* \\<i\\>\ufffd\\[0m | a\\|b\\*2\\* \\<i\\>\ufffd\\[0m |" in text
    assert "| pp512 | 600.0 ± 6.0 | 600.0 ± 6.0 | 1.00 |" in text
    assert text.splitlines()[-1] == "Warning: the model differs: the ratios compare it too."


def test_labels(tmp_path: Path) -> None:
    """Names of files as far as they are short and of their own."""

    def labels(*names: str) -> list[str]:
        paths = [tmp_path / name for name in names]
        for path in paths:
            path.parent.mkdir(exist_ok=True)
            written(path, result())
        return Comparison(read_runs(paths)).labels

    assert labels("a.json", "b.c.json") == ["a", "b.c"]
    assert labels("x/a.json", "y/a.json") == ["#1", "#2"]
    assert labels("a.json", "a.json", "b.json") == ["#1", "#2", "#3"]
    assert labels("a.json", "long" * 5 + ".json") == ["#1", "#2"]


def test_files(two: tuple[Path, Path], tmp_path: Path) -> None:
    for name, begin in {"p.html": "<!DOCTYPE html>", "p.md": "model", "p.csv": "file,test"}.items():
        done = mobius("compare", *two, "-o", tmp_path / name)
        assert (done.exit_code, done.stdout) == (0, "")
        assert f"wrote {tmp_path / name}" in done.stderr
        assert (tmp_path / name).read_text().startswith(begin)
    done = mobius("compare", *two, "--json", "-o", tmp_path / "p.html")
    assert json.loads(done.stdout)["runs"]


def test_refusals(two: tuple[Path, Path], tmp_path: Path) -> None:
    kept = written(tmp_path / "c.md", result(TESTS))
    for arguments, words in {
        ("-o", "json"): "md, csv, html",
        ("-o", "x.svg"): "neither a form nor a file",
        ("--json", "-o", "md"): "both be on stdout",
        ("-o", str(tmp_path / "none" / "p.html")): "there is no folder",
        ("-o", str(kept)): "is a file that is read here",
    }.items():
        done = mobius("compare", *two, kept, *arguments)
        assert done.exit_code == 2
        assert words in done.stderr
    assert json.loads(kept.read_text()) == result()


def test_it_starts_at_once(two: tuple[Path, Path]) -> None:
    """No model is read, and no page is made."""
    assert imported(HEAVY, "compare", *map(str, two), "--json").endswith("0 []")
    assert imported((*HEAVY, "numpy"), "compare", "--help") == "0 []"


@pytest.mark.parametrize(
    ("line", "wanted"), [("compare -o ", "md csv html"), ("bench x -o j", "json jsonl"), ("comp", "compare")]
)
def test_forms_are_completed(line: str, wanted: str) -> None:
    test_help.test_completion(line, wanted)
