"""llama-bench beside: where it is found, how it is asked, and what happens when it fails."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mobius_cli.llama_cpp import bench as llama_bench
from mobius_cli.llama_cpp.bench import LlamaBench, find_llama_bench
from repack.errors import InputError, MobiusError

ANSWER = {"build_commit": "abc", "build_number": 7, "backends": "CPU", "n_prompt": 8, "n_gen": 0, "avg_ts": 12.5}


def fake(
    folder: Path, answer: Any, *, code: int = 0, stderr: str = "", options: str = "", name: str = "llama-bench"
) -> Path:
    """A program that appends its arguments to `calls`, and answers."""
    text = answer if isinstance(answer, str) else json.dumps(answer)
    path = folder / name
    path.write_text(
        f"#!{sys.executable}\nimport sys\nif '--help' in sys.argv: sys.exit(print({options!r}))\n"
        f"with open({str(folder / 'calls')!r}, 'a') as file: print(*sys.argv[1:], file=file)\n"
        f"print({text!r}); print({stderr!r}, file=sys.stderr); sys.exit({code})\n"
    )
    path.chmod(0o755)
    return path


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def test_a_prompt(tmp_path: Path) -> None:
    bench = LlamaBench(fake(tmp_path, [ANSWER]), Path("m.gguf"), threads=3, gpu_layers=0)
    assert (bench.speed(8, 0, 0), bench.build, bench.backends) == (12.5, "b7-abc", "CPU")
    assert calls(tmp_path) == ["-m m.gguf -t 3 -ngl 0 -r 1 -o json -p 8 -n 0"]


def test_generation_at_a_depth_on_a_gpu(tmp_path: Path) -> None:
    answer = ANSWER | {"n_prompt": 0, "n_gen": 4, "n_depth": 5}
    bench = LlamaBench(fake(tmp_path, [answer], options="-dev, --device"), Path("m.gguf"), threads=3, gpu_layers=99)
    assert bench.speed(0, 4, 5) == 12.5
    assert calls(tmp_path) == ["-m m.gguf -t 3 -ngl 99 -r 1 -o json -p 0 -n 4 -d 5"]


def test_a_gpu_build_leaves_the_gpu_alone_for_a_cpu(tmp_path: Path) -> None:
    path = fake(tmp_path, [ANSWER], options="  -dev, --device <dev0/dev1/...>")
    LlamaBench(path, Path("m.gguf"), threads=1, gpu_layers=0).speed(8, 0, 0)
    assert calls(tmp_path) == ["-m m.gguf -t 1 -ngl 0 -r 1 -o json -dev none -p 8 -n 0"]


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (
            "noise\nmain: error: failed to load model 'm.gguf'\nbye",
            "code 3: main: error: failed to load model 'm.gguf'",
        ),
        ("one\ntwo\n\n", "code 3: two"),
        ("", "code 3: (no output)"),
    ],
)
def test_a_failure_is_one_line(tmp_path: Path, stderr: str, words: str) -> None:
    bench = LlamaBench(fake(tmp_path, [ANSWER], code=3, stderr=stderr), Path("m"), threads=1, gpu_layers=0)
    with pytest.raises(MobiusError) as caught:
        bench.speed(8, 0, 0)
    assert caught.value.message == f"llama-bench ended with {words}"
    assert "\n" not in caught.value.hint


@pytest.mark.parametrize(
    "answer",
    [
        "no JSON", [], [ANSWER, ANSWER], 5, [5], [None], [{"avg_ts": 5}], {"n_prompt": 8},
        [ANSWER | {"avg_ts": None}], [ANSWER | {"avg_ts": 0}], [ANSWER | {"avg_ts": float("nan")}],
        [ANSWER | {"n_prompt": 9}], [ANSWER | {"n_depth": 1}],
    ],
)  # fmt: skip
def test_an_answer_to_something_else(tmp_path: Path, answer: Any) -> None:
    bench = LlamaBench(fake(tmp_path, answer), Path("m"), threads=1, gpu_layers=0)
    with pytest.raises(MobiusError, match="no usable answer"):
        bench.speed(8, 0, 0)


def test_a_program_that_cannot_run(tmp_path: Path) -> None:
    path = tmp_path / "llama-bench"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    with pytest.raises(MobiusError, match="cannot run it"):
        LlamaBench(path, Path("m"), threads=1, gpu_layers=0)


def test_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake(tmp_path, [])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_llama_bench() == path


def test_beside_the_server_that_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another build on the PATH is not what the user asked for."""
    (tmp_path / "named").mkdir()
    (tmp_path / "path").mkdir()
    fake(tmp_path / "path", [])
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    server = fake(tmp_path / "named", [], name="llama-server")
    assert find_llama_bench(str(server)) is None
    path = fake(tmp_path / "named", [])
    assert find_llama_bench(str(server)) == path


def test_beside_what_a_link_points_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "bin").mkdir()
    path = fake(tmp_path / "real", [])
    (tmp_path / "bin" / "llama-server").symlink_to(fake(tmp_path / "real", [], name="llama-server"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_llama_bench() == path


def test_none_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(llama_bench, "find_llama_server", lambda explicit: (_ for _ in ()).throw(MobiusError("none")))
    assert find_llama_bench() is None


def test_a_server_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not an executable"):
        find_llama_bench(str(tmp_path / "nothing"))
