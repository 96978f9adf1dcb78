"""Files that reports are written to: in full or not at all, and known to be writable before."""

import os
from pathlib import Path

import pytest

from mobius_cli.output import Output
from mobius_cli.reports import destination as module
from mobius_cli.reports.destination import destination
from mobius_cli.reports.wanted import Wanted
from repack.errors import InputError, MobiusError


def write(path: Path, text: str = "new", needed: tuple[Path, ...] = ()) -> None:
    with destination(Wanted("md", path), Output(), needed) as put:
        put(text)


def test_a_new_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.umask(umask := os.umask(0))
    write(tmp_path / "a.md", "ä ± 1")
    assert (tmp_path / "a.md").read_bytes() == "ä ± 1\n".encode()
    assert (tmp_path / "a.md").stat().st_mode & 0o777 == 0o666 & ~umask
    assert capsys.readouterr() == ("", f"wrote {tmp_path}/a.md\n")


def test_an_old_file_keeps_its_mode_and_its_links(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("old")
    (tmp_path / "a.md").chmod(0o640)
    (tmp_path / "link.md").symlink_to("a.md")
    write(tmp_path / "link.md")
    assert (tmp_path / "a.md").read_text() == "new\n"
    assert (tmp_path / "a.md").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.md").is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


def test_the_old_file_is_there_until_the_new_one_is(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("old")
    with destination(Wanted("md", tmp_path / "a.md"), Output()):
        assert (tmp_path / "a.md").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]
    with pytest.raises(KeyboardInterrupt), destination(Wanted("md", tmp_path / "a.md"), Output()):
        raise KeyboardInterrupt
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "a.md").write_text("old")
    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(MobiusError, match=r"cannot write .*a\.md: No space left on device") as refused:
        write(tmp_path / "a.md")
    assert refused.value.exit_code == 1
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_what_cannot_be_written_is_refused_before(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "circle.md").symlink_to("circle.md")
    (tmp_path / "kept.md").write_text("kept")
    (tmp_path / "same.md").symlink_to("kept.md")
    os.mkfifo(tmp_path / "pipe.md")
    for name, words in {
        "folder.md": "it is a folder",
        "none/a.md": "there is no folder",
        "kept.md/a.md": "there is no folder",
        "pipe.md": "not a regular file",
        "circle.md": "cannot write",
        "x" * 300 + ".md": "cannot write",
        "kept.md": "is read here",
        "same.md": "is read here",
    }.items():
        with (
            pytest.raises(InputError, match=words),
            destination(Wanted("md", tmp_path / name), Output(), [tmp_path / "kept.md"]),
        ):
            raise AssertionError("measured")
    assert (tmp_path / "kept.md").read_text() == "kept"
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_without_permission(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("old")
    (tmp_path / "a.md").chmod(0o444)
    with pytest.raises(InputError, match="write-protected"):
        write(tmp_path / "a.md")
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match="Permission denied"):
        write(tmp_path / "b.md")


def test_a_file_system_that_cannot_be_written() -> None:
    with pytest.raises(InputError, match="cannot write /proc/a"):
        write(Path("/proc/a.md"))
