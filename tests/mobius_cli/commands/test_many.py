"""`mobius convert` of several models, and of none: --dry-run."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.cli import contents, mobius
from tests.support.split import write_split
from tests.support.tiny import SMALL, write_tiny


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`good.gguf`, `odd.gguf`, which is refused, `cut.gguf`, which is damaged; and `split/s-0000N-of-...gguf`."""
    base = tmp_path_factory.mktemp("many")
    write_tiny(base / "good.gguf", "llama", **SMALL)
    write_tiny(base / "odd.gguf", "llama", extra_metadata={"llama.logit_scale": 2.0}, **SMALL)
    (base / "cut.gguf").write_bytes((base / "good.gguf").read_bytes()[:999])
    (base / "split").mkdir()
    assert len(write_split(base / "good.gguf", base / "split" / "s-1.gguf", 7)) > 2
    return base


@pytest.fixture(scope="module")
def wanted(models: Path) -> dict[str, bytes]:
    assert mobius("convert", models / "good.gguf", "-o", models / "wanted").exit_code == 0
    return contents(models / "wanted")


def test_each_becomes_a_folder(models: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    shutil.copy(models / "good.gguf", tmp_path / "other.GGUF")
    done = mobius("convert", models / "good.gguf", tmp_path / "other.GGUF", models / "good.gguf", "-o", tmp_path / "o")
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "o").iterdir()) == ["good_onnx", "other_onnx"]
    assert contents(tmp_path / "o" / "good_onnx") == wanted
    assert done.stdout.splitlines()[-1] == "2 of 2 converted"
    assert "next: " not in done.stdout
    assert f"[2/2] {tmp_path}/other.GGUF" in done.stderr


def test_a_folder_of_files_and_parts_that_count_once(models: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    done = mobius("convert", models / "split", "-o", tmp_path / "o", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["converted"], found["failed"], len(found["models"])) == (1, 0, 1)
    assert found["models"][0]["folder"] == str(tmp_path / "o" / "s-1_onnx")
    assert (tmp_path / "o" / "s-1_onnx" / "model.onnx_data").read_bytes() == wanted["model.onnx_data"]


def test_a_failure_does_not_stop_the_others(models: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    names = ("cut.gguf", "odd.gguf", "none.gguf", "good.gguf")
    done = mobius("convert", *(models / name for name in names), "-o", tmp_path / "o")
    assert done.exit_code == 1
    assert contents(tmp_path / "o" / "good_onnx") == wanted
    assert [path.name for path in (tmp_path / "o").iterdir()] == ["good_onnx"]
    lines = done.stdout.splitlines()
    assert lines[-4] == "1 of 4 converted"
    assert [line.split(":")[0] for line in lines[-3:]] == [f"  not {models / name}" for name in names[:3]]
    assert sum(line.startswith("error: ") for line in done.stderr.splitlines()) == 3


def test_codes_and_json_of_failures(models: Path, tmp_path: Path) -> None:
    done = mobius("convert", models / "cut.gguf", models / "good.gguf", "-o", tmp_path / "o", "--json")
    assert done.exit_code == 2
    bad, good = json.loads(done.stdout)["models"]
    assert bad["error"]["exit_code"] == 2
    assert bad["model"] == str(models / "cut.gguf")
    assert good["folder"] == str(tmp_path / "o" / "good_onnx")
    assert "error" not in good


def test_an_existing_folder_is_a_failure_of_one(models: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    both = (models / "good.gguf", models / "split", "-o", tmp_path / "o")
    assert mobius("convert", *both).exit_code == 0
    (tmp_path / "o" / "good_onnx" / "notes.txt").write_text("mine")
    for options in ((), ("--force",)):
        done = mobius("convert", *both, *options)
        assert done.exit_code == 2
        assert "mobius did not write notes.txt" in done.stderr
        assert done.stdout.splitlines()[-2].startswith("1 of 2" if options else "  not")
    assert contents(tmp_path / "o" / "good_onnx") == {**wanted, "notes.txt": b"mine"}


def test_folders_of_ours_among_them(models: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    done = mobius("convert", models / "wanted", models / "good.gguf", "-o", tmp_path / "o")
    assert done.exit_code == 0, done.stderr
    assert contents(tmp_path / "o" / "wanted_onnx") == contents(tmp_path / "o" / "good_onnx") == wanted


def test_without_o_they_are_here(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mobius("convert", models / "good.gguf", models / "split").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good_onnx", "s-1_onnx"]


def test_what_cannot_be_said_of_several(models: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    shutil.copy(models / "good.gguf", tmp_path / "good.gguf")
    done = mobius("convert", models / "good.gguf", tmp_path / "good.gguf", "-o", tmp_path / "o")
    assert done.exit_code == 2
    assert "would both become" in done.stderr
    done = mobius("convert", models / "good.gguf", models / "split", "-o", models / "wanted", "--force")
    assert done.exit_code == 2
    assert "is a model folder" in done.stderr
    assert contents(models / "wanted") == wanted
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("options", [(), ("--ep", "cpu", "--storage", "small"), ("--ep", "cuda", "--dtype", "bf16")])
def test_dry_run_shows_what_inspect_shows(models: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    done = mobius("convert", models / "good.gguf", "-o", tmp_path / "a" / "b", "--dry-run", *options)
    assert done.exit_code == 0, done.stderr
    assert not list(tmp_path.iterdir())
    shown = mobius("inspect", models / "good.gguf", *options).stdout
    assert done.stdout.startswith(shown.split("predicted")[0])
    assert done.stdout.splitlines()[-1] == f"nothing is written: it would be {tmp_path}/a/b"
    found = json.loads(mobius("convert", models / "good.gguf", "--dry-run", "--json", *options).stdout)
    assert found["dry_run"] is True
    assert found["folder"] == "good_onnx"
    assert found["predicted"]["weight_bytes"] > 0


@pytest.mark.parametrize(
    "arguments",
    [("odd.gguf",), ("cut.gguf",), ("none.gguf",), ("good.gguf", "--context-length", "65"),
     ("good.gguf", "--ep", "tpu"), ("good.gguf", "-o", "wanted"), ("wanted", "--storage", "small", "--ep", "cpu"),
     ("good.gguf", "-o", "odd.gguf")],
    ids=" ".join,
)  # fmt: skip
def test_dry_run_ends_as_convert_would(
    models: Path, wanted: dict[str, bytes], arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(models)
    before = contents(models)
    dry, real = (mobius("convert", *arguments, *more) for more in (("--dry-run",), ()))
    assert dry.exit_code == real.exit_code != 0
    assert dry.stderr == real.stderr
    assert contents(models) == before


def test_dry_run_of_a_folder_and_of_several(models: Path, wanted: dict[str, bytes], tmp_path: Path) -> None:
    done = mobius("convert", models / "wanted", "-o", tmp_path / "o", "--ep", "cpu", "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert "8 bit, block 32" in done.stdout
    done = mobius("convert", models / "good.gguf", models / "odd.gguf", "-o", tmp_path / "o", "--dry-run")
    assert done.exit_code == 1
    assert "1 of 2 can be converted" in done.stdout
    assert not list(tmp_path.iterdir())


def test_dry_run_finds_that_there_is_no_space(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 99, 1))
    done = mobius("convert", models / "good.gguf", "-o", tmp_path / "a" / "b", "--dry-run")
    assert done.exit_code == 1
    assert "not enough space" in done.stderr
