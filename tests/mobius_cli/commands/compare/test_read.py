"""Files that `mobius compare` reads: every shape of `mobius bench`, and a clear word on anything else."""

import json
from pathlib import Path
from typing import Any

import pytest

from mobius_cli.commands.compare.read import read_runs
from repack.errors import InputError
from tests.mobius_cli.commands.compare.files import FACTS, TESTS, result, rows, timed, written
from tests.support.cli import mobius
from tests.support.tiny import write_tiny


def test_all_shapes_hold_the_same(tmp_path: Path) -> None:
    one, array = written(tmp_path / "a", result()), written(tmp_path / "b", rows())
    lines, single = tmp_path / "c", tmp_path / "d"
    lines.write_text("\ufeff" + "\n\n".join(json.dumps(row) for row in rows()) + "\n")
    single.write_text(json.dumps(rows()[0]))
    runs = read_runs([one, array, lines, single])
    assert [run.path for run in runs] == [one, array, lines, single]
    assert runs[0].facts == {key: value for key, value in FACTS.items() if key != "n_batch"}
    assert [(test.name, m.ours.mean, m.theirs and m.theirs.spread) for test, m in runs[0].tests.items()] == [
        ("pp512", 600.0, 3.0), ("tg64", 100.0, 1.0),
    ]  # fmt: skip
    assert (runs[0].samples, runs[0].begun) == (2, "2026-01-02T03:04:05Z")
    for other in runs[1:3]:
        assert (other.facts, other.tests) == (runs[0].facts, runs[0].tests)
    assert list(runs[3].tests) == list(runs[0].tests)[:1]


def test_what_bench_itself_writes(tmp_path: Path) -> None:
    """Not written by hand: every form of it has what is needed."""
    file = write_tiny(tmp_path / "tiny.gguf", "llama", types="Q8_0", tokenizer="bpe")
    assert mobius("convert", file, "-o", tmp_path / "onnx").exit_code == 0
    small = ("bench", tmp_path / "onnx", "-p", "8", "-n", "3", "-r", "1", "-t", "1")
    (tmp_path / "a.json").write_text(mobius(*small, "--json").stdout)
    for name in ("b.json", "c.jsonl"):
        assert mobius(*small, "-o", tmp_path / name).exit_code == 0
    done = mobius("compare", *(tmp_path / name for name in ("a.json", "b.json", "c.jsonl")), "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert [run["model_name"] for run in found["runs"]] == ["tiny llama"] * 3
    assert [run["command"].rpartition(" -t 1 ")[2] for run in found["runs"]] == [
        "--json", f"-o {tmp_path}/b.json", f"-o {tmp_path}/c.jsonl",
    ]  # fmt: skip
    assert [test["test"] for test in found["tests"]] == ["pp8", "tg3"]


def without(key: str) -> dict[str, Any]:
    return {k: v for k, v in result().items() if k != key}


def one(**changed: Any) -> dict[str, Any]:
    return result([{**TESTS[0], **changed}])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("GGUF", "is not JSON: Expecting value: line 1 column 1"),
        ("{} {}", "is not JSON: Extra data: line 1"),
        ("\ud800", "is not JSON: 'utf-8' codec"),
        ("[" * 100_000, "is not JSON: maximum recursion depth"),
        (json.dumps(rows()[0]) + "\n\n{oops", "in line 3, column 2"),
        (json.dumps(one(avg_ts=float("nan"))), "is not JSON: NaN is not a number"),
        (json.dumps(one(stddev_ts=float("-inf"))), "-Infinity is not a number"),
        ("1" * 5000, "is not JSON: Exceeds the limit"),
    ],
)
def test_no_json(tmp_path: Path, text: str, words: str) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(text.encode(errors="surrogatepass"))
    check(tmp_path, bad, words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (3, "3 where dict is expected"),
        ([], "it has no tests"),
        ([1], "1 where dict is expected"),
        (result([]), "it has no tests"),
        (result({}), "{} where list is expected"),  # type: ignore[arg-type]
        (without("model_name"), "model_name is missing"),
        (without("command"), "command is missing"),
        (result(n_threads=True), "n_threads: True where int is expected"),
        (result(n_threads=10**30), "n_threads: 1000000000000000000000000000000 is not from 0"),
        (result(model_size=-1), "model_size: -1 is not from 0"),
        (result(load_s="0.1"), "load_s: '0.1' where float is expected"),
        (result(peak_host_mb=10**400), "peak_host_mb: "),
        (result([*TESTS, {}]), "test 3: n_prompt is missing"),
        (result([*TESTS, TESTS[0]]), "test 3: pp512 is there twice"),
        (result([timed(0, 0, 5, (1.0, 0.0), None)]), "test 1: either n_prompt or n_gen must be more than 0"),
        (result([timed(1, 1, 0, (1.0, 0.0), None)]), "test 1: either n_prompt or n_gen must be more than 0"),
        (one(avg_ts=0), "test 1: avg_ts: a speed of 0"),
        (one(avg_ts=-3.5), "test 1: avg_ts: -3.5 is not from 0"),
        (one(avg_ts=1e300), "test 1: avg_ts: 1e+300 is not from 0"),
        (one(avg_ts=None), "test 1: avg_ts: None where float is expected"),
        (one(stddev_ts=-1.0), "test 1: stddev_ts: -1.0 is not from 0"),
        (one(llama_cpp_avg_ts=None), "one of llama_cpp_avg_ts and llama_cpp_stddev_ts is null"),
        (one(samples_ts=[]), "test 1: samples_ts: there is no sample"),
        ([*rows(), *rows([timed(9, 0, 0, (1.0, 0.0), None)], backend="ORT cuda")],
         "test 3 is of another run than test 1: its backend is 'ORT cuda'"),
    ],
)  # fmt: skip
def test_another_shape(tmp_path: Path, content: Any, words: str) -> None:
    check(tmp_path, written(tmp_path / "bad.json", content), words)


def test_a_number_that_overflows(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(one()).replace("600.0", "1e999"))
    check(tmp_path, bad, "test 1: avg_ts: inf is not from 0")


def check(tmp_path: Path, bad: Path, words: str) -> None:
    """It is refused with the file's name and these words, and exit code 2, wherever it stands."""
    good = written(tmp_path / "good.json", result())
    for paths in ([good, bad], [bad, good]):
        done = mobius("compare", *paths)
        assert done.exit_code == 2, done.output
        assert done.stdout == ""
        error, hint = done.stderr.splitlines()
        assert error.startswith(f"error: {bad} ")
        assert words in error
        assert "mobius bench" in hint


def test_files_that_are_not_there(tmp_path: Path) -> None:
    good = written(tmp_path / "good.json", result())
    for paths, words in {
        (good, tmp_path / "none.json"): "none.json: no such file",
        (good, tmp_path): "cannot be read: Is a directory",
        (good,): "one file is nothing to compare",
    }.items():
        with pytest.raises(InputError, match=words):
            read_runs(paths)
    assert mobius("compare").exit_code == 2


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.json").open("wb") as stream:
        stream.truncate(1 << 40)
    check(tmp_path, tmp_path / "huge.json", "is larger than 64 MiB")
