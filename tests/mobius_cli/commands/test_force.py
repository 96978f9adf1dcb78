"""`mobius convert --force`: what it replaces, and what it never deletes."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from converters.folder import writer
from converters.folder.manifest import FORMAT, MANIFEST
from converters.folder.writer import WRITTEN, WRITTEN_TEMPLATES, new_folder
from converters.tokenizer import stored
from repack.errors import InputError
from tests.mobius_cli.commands.test_convert import FILES
from tests.support.cli import contents, mobius
from tests.support.split import write_split
from tests.support.tiny import write_tiny

OPTIONS: dict[str, Any] = {"types": "Q8_0", "tokenizer": "bpe", "n_vocab": 320, "n_embd": 32, "n_ff": 32,
                           "head_dim": 16, "n_head": 2, "n_kv": 1}  # fmt: skip
TEMPLATES = {"tokenizer.chat_template": "{{ bos_token }}", "tokenizer.chat_template.tool_use": "{{ eos_token }}",
             "tokenizer.chat_templates": ["tool_use"]}  # fmt: skip


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """`in.gguf`, and its folder `d` with an inner folder."""
    write_tiny(tmp_path / "in.gguf", "llama", extra_metadata=TEMPLATES, **OPTIONS)
    assert mobius("convert", tmp_path / "in.gguf", "-o", tmp_path / "d").exit_code == 0
    assert (tmp_path / "d" / "additional_chat_templates" / "tool_use.jinja").exists()
    return tmp_path


def refused(source: Path, folder: Path, *words: str, force: bool = True) -> None:
    """Exit code 2 with one line that has these words, and nothing touched."""
    base = folder.parent
    before = contents(base)
    done = mobius("convert", source, "-o", folder, *["--force"] * force)
    assert done.exit_code == 2, done.stdout
    assert len(done.stderr.splitlines()) == 2
    for word in (*words, "hint: "):
        assert word in done.stderr
    assert contents(base) == before
    assert not [path for path in base.iterdir() if path.name.startswith(".")]


def test_a_folder_of_ours_is_replaced_inner_folders_too(made: Path) -> None:
    wanted = contents(made / "d")
    for name in wanted.keys() - {"mobius.json", "README.md"}:
        (made / "d" / name).write_bytes(b"old")
    assert mobius("convert", made / "in.gguf", "-o", made / "d", "--force").exit_code == 0
    assert contents(made / "d") == wanted
    assert sorted(path.name for path in made.iterdir()) == ["d", "in.gguf"]


def test_a_source_inside_is_kept(made: Path) -> None:
    (made / "in.gguf").rename(made / "d" / "in.gguf")
    refused(made / "d" / "in.gguf", made / "d", f"{made}/d/in.gguf is in {made}/d, which would be replaced")
    refused(made / "d" / "in.gguf", made / "d", "which would be replaced", force=False)


@pytest.mark.parametrize("kind", ["link to it", "link in it", "hard link", "link to the folder"])
def test_links_do_not_hide_a_source(made: Path, kind: str) -> None:
    """A name of ours inside the folder, so that only the file itself tells."""
    inside, source = made / "d" / "chat_template.jinja", made / "in.gguf"
    inside.unlink()
    destination = made / "d"
    if kind == "link to it":
        source.rename(inside)
        source.symlink_to(inside)
    elif kind == "link in it":
        inside.symlink_to(source)
    elif kind == "hard link":
        os.link(source, inside)
    else:
        source.rename(inside)
        source.symlink_to(inside)
        destination = made / "link"
        destination.symlink_to(made / "d")
    refused(source, destination, "which would be replaced")


def test_every_part_of_a_split_source_is_kept(made: Path) -> None:
    """Also one that is not the part given; it stands under a name of ours by a hard link."""
    parts = write_split(made / "in.gguf", made / "s.gguf", 7)
    assert len(parts) > 1
    (made / "d" / "config.json").unlink()
    os.link(parts[-1], made / "d" / "config.json")
    refused(parts[0], made / "d", parts[-1].name, "which would be replaced")


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "sub/model.onnx", "additional_chat_templates/mine.jinja"])
def test_a_file_of_the_user_is_kept(made: Path, name: str) -> None:
    (made / "d" / name).parent.mkdir(exist_ok=True)
    (made / "d" / name).write_text("mine")
    refused(made / "in.gguf", made / "d", f"mobius did not write {name} in it", "choose another folder with -o")


def test_links_of_the_user_are_kept(made: Path) -> None:
    (made / "home").mkdir()
    for number, target in enumerate(("home", "nowhere", "in.gguf")):
        link = made / "d" / f"link{number}"
        link.symlink_to(made / target)
        if target == "in.gguf":
            write_tiny(made / "other.gguf", "llama", **OPTIONS)
        refused(made / "other.gguf" if target == "in.gguf" else made / "in.gguf", made / "d", link.name)
        link.unlink()


def test_many_foreign_files_make_one_line(made: Path) -> None:
    for number in range(9):
        (made / "d" / f"a{number}").write_text("")
    refused(made / "in.gguf", made / "d", "mobius did not write a0, a1, a2 and 6 more in it")


def manifests() -> dict[str, Any]:
    return {
        "cut": lambda text: text[:99],
        "no text": lambda text: "\udcff",
        "older": lambda text: json.dumps({**json.loads(text), "format": 1}),
        "newer": lambda text: json.dumps({**json.loads(text), "format": 99, "files": {"in.gguf": 1, "notes.txt": 1}}),
        "a list": lambda text: "[]",
        "no files": lambda text: json.dumps({**json.loads(text), "files": ["notes.txt"]}),
    }


@pytest.mark.parametrize("kind", manifests())
def test_without_a_readable_manifest_our_names_may_go_and_no_others(made: Path, kind: str) -> None:
    path = made / "d" / "mobius.json"
    path.write_text(manifests()[kind](path.read_text()), errors="surrogateescape")
    (made / "d" / "notes.txt").write_text("mine")
    refused(made / "in.gguf", made / "d", "mobius did not write notes.txt in it")
    (made / "d" / "notes.txt").unlink()
    assert mobius("convert", made / "in.gguf", "-o", made / "d", "--force").exit_code == 0
    assert json.loads(path.read_text())["format"] == FORMAT


def test_the_fixed_names_are_those_that_are_written() -> None:
    hub = {f"onnx/model{kind}" for kind in (".onnx", ".onnx_data", "_fp16.onnx", "_fp16.onnx_data")}
    assert {stored.TOKENIZER, stored.CONFIG, stored.TEMPLATE, MANIFEST, *FILES, *hub} == WRITTEN
    assert stored.NAMED_TEMPLATES == WRITTEN_TEMPLATES


@pytest.mark.parametrize("options", [(), ("--ep", "cpu")], ids=["as it was", "for another target"])
def test_a_folder_onto_itself(made: Path, options: tuple[str, ...]) -> None:
    """Its weights are mapped while the new folder is written beside it; the old one goes last."""
    assert mobius("convert", made / "in.gguf", "-o", made / "wanted", *options).exit_code == 0
    done = mobius("convert", made / "d", "-o", made / "d", "--force", *options)
    assert done.exit_code == 0, done.stderr
    assert contents(made / "d") == contents(made / "wanted")
    refused(made / "d", made / "d", "pass --force", force=False)


def test_a_folder_onto_a_link_to_itself(made: Path) -> None:
    """The link is replaced, and what it pointed to stays."""
    (made / "link").symlink_to(made / "d")
    wanted = contents(made / "d")
    assert mobius("convert", made / "d", "-o", made / "link", "--force").exit_code == 0
    assert not (made / "link").is_symlink()
    assert contents(made / "link") == contents(made / "d") == wanted


def test_a_folder_around_the_source_is_kept(made: Path) -> None:
    """A folder in the folder that would be replaced, even if the outer one's manifest names its files."""
    shutil.copytree(made / "d", made / "outer")
    (made / "d").rename(made / "outer" / "inner")
    path = made / "outer" / "mobius.json"
    manifest = json.loads(path.read_text())
    inner = {f"inner/{name}": 1 for name in contents(made / "outer" / "inner")}
    path.write_text(json.dumps({**manifest, "files": {**manifest["files"], **inner}}))
    refused(made / "outer" / "inner", made / "outer", "which would be replaced")


def test_what_comes_while_converting_is_kept(made: Path) -> None:
    with pytest.raises(InputError, match=r"did not write late\.bin"), new_folder(made / "d", True, 0) as work:
        (work / "model.onnx").write_text("new")
        (made / "d" / "late.bin").write_text("mine")
    assert (made / "d" / "late.bin").exists()
    assert not [path for path in made.iterdir() if path.name.startswith(".")]


def test_an_old_folder_comes_back(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the user interrupts between both renames."""
    wanted, rename = contents(made / "d"), Path.rename

    def interrupted(self: Path, target: Path) -> Path:
        if ".partial-" in self.name:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(writer.Path, "rename", interrupted)
    assert mobius("convert", made / "in.gguf", "-o", made / "d", "--force").exit_code == 130
    monkeypatch.undo()
    assert contents(made / "d") == wanted
    assert sorted(path.name for path in made.iterdir()) == ["d", "in.gguf"]
