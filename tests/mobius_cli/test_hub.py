"""hf:// addresses: how they are read, what is downloaded from a hub on this machine, and what is said if it fails."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mobius_cli import hub as module
from mobius_cli.hub import Address, local, parse
from repack.errors import InputError, MobiusError
from tests.support.cli import mobius
from tests.support.hub import FakeHub, served
from tests.support.split import write_split
from tests.support.tiny import write_tiny

pytest.importorskip("huggingface_hub")
OLD, NEW = "a" * 40, "b" * 40


@pytest.mark.parametrize("slashes", ["/", "//"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("o/r/f.gguf", Address("o/r", "f.gguf")),
        ("o/r/in/side/f.GGUF", Address("o/r", "in/side/f.GGUF")),
        ("o/r@v1.0/f.gguf", Address("o/r", "f.gguf", "v1.0")),
        ("o/r@refs%2Fpr%2F1/f@1.gguf", Address("o/r", "f@1.gguf", "refs/pr/1")),
        ("o/r", Address("o/r", "")),
        ("o/r/", Address("o/r", "")),
    ],
)
def test_addresses(slashes: str, text: str, wanted: Address) -> None:
    assert parse(f"hf:{slashes}{text}") == wanted
    assert parse(Path(f"hf:{slashes}{text}").as_posix()) == wanted


@pytest.mark.parametrize(
    "text", ["", "o", "o/", "/r/f.gguf", "o/r@/f.gguf", "o/r/../f.gguf", "o/r//f.gguf", "o/r/f.txt", "o/@v/f.gguf"]
)
def test_no_addresses(text: str) -> None:
    with pytest.raises(InputError, match=r"no address on the hub|no GGUF file") as refused:
        parse(f"hf://{text}")
    assert "hf://OWNER/REPO/FILE.gguf" in refused.value.hint


def test_other_paths_stay_as_they_are() -> None:
    for text in ("hf", "hf:a", "a/hf:/b", "/hf:/a.gguf"):
        assert local(Path(text)) == Path(text)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("hub") / "t.gguf", "llama", types="Q8_0", tokenizer="bpe")


@pytest.fixture
def hub(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    parts = write_split(tiny, tmp_path / "s.gguf", 9)
    whole = {"t.gguf": tiny.read_bytes(), "in/side/u.gguf": tiny.read_bytes(), "README.md": b"x"}
    split = {f"q/{part.name}": part.read_bytes() for part in parts}
    commits: dict[str, Any] = {"o/r": {OLD: {"old.gguf": tiny.read_bytes()}, NEW: {**whole, **split}}, "o/e": {NEW: {}}}
    refused = {"o/gated": "GatedRepo", "o/busy": "Busy"}
    with served(FakeHub(commits, refused)) as found:
        from huggingface_hub import constants

        monkeypatch.setattr(constants, "ENDPOINT", found.endpoint)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("huggingface_hub.file_download.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", found.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        )
        yield found


def test_a_file(hub: FakeHub, tiny: Path) -> None:
    path = local(Path("hf://o/r/t.gguf"), quiet=True)
    assert path.name == "t.gguf"
    assert path.read_bytes() == tiny.read_bytes()
    assert local(Path("hf://o/r/in/side/u.gguf")).name == "u.gguf"


def test_a_revision(hub: FakeHub, tiny: Path) -> None:
    assert local(Path(f"hf://o/r@{OLD}/old.gguf")).read_bytes() == tiny.read_bytes()
    with pytest.raises(MobiusError, match="no such file"):
        local(Path("hf://o/r/old.gguf"))


def test_a_file_is_downloaded_once(hub: FakeHub) -> None:
    first = local(Path("hf://o/r/t.gguf"))
    hub.asked.clear()
    assert local(Path("hf://o/r/t.gguf")) == first
    assert not [request for request in hub.asked if request.startswith("GET /o/r/resolve")]


def test_all_parts_of_a_split_file_are_of_one_commit(hub: FakeHub, tiny: Path) -> None:
    names = [name for name in hub.commits["o/r"][NEW] if name.startswith("q/")]
    assert len(names) == 3
    path = local(Path(f"hf://o/r/{names[1]}"))
    assert path.name == Path(names[1]).name
    assert {f"q/{part.name}" for part in path.parent.iterdir()} == set(names)
    others = [request for request in hub.asked if request.startswith("GET") and names[1] not in request]
    assert others
    assert all(f"/resolve/{NEW}/" in request for request in others)


def fails(address: str, code: int) -> tuple[str, str]:
    """What `mobius inspect` says: an error and a hint."""
    done = mobius("inspect", address)
    assert done.exit_code == code, done.stderr
    assert done.stdout == ""
    error, hint = done.stderr.splitlines()
    return error.removeprefix("error: "), hint.removeprefix("hint: ")


@pytest.mark.parametrize(
    ("address", "code", "error", "hint"),
    [
        ("hf://a", 2, "hf://a is no address", "hf://OWNER/REPO/FILE.gguf"),
        ("hf://o/r", 2, "hf://o/r names no file", "it has in/side/u.gguf, q/s-00001-of-00003.gguf, t.gguf"),
        ("hf://o/e", 2, "hf://o/e names no file", "it has no GGUF file"),
        ("hf://o/none", 1, "no repository o/none", "HF_TOKEN"),
        ("hf://o/none/t.gguf", 1, "no repository o/none", "HF_TOKEN"),
        ("hf://o/gated/t.gguf", 1, "access to o/gated must be granted", "HF_TOKEN"),
        ("hf://o/r/x.gguf", 1, "the repository has no such file", "it has in/side/u.gguf"),
        ("hf://o/r@v9/t.gguf", 1, "has no revision v9", "leave out @"),
        ("hf://o/r--x/t.gguf", 2, "o/r--x is no name of a repository", "hf://OWNER"),
        ("hf://o/busy/t.gguf", 1, "is not in the hub's cache: ", "check the network"),
    ],
)
def test_what_goes_wrong(hub: FakeHub, address: str, code: int, error: str, hint: str) -> None:
    said, what_to_do = fails(address, code)
    assert error in said
    assert address.replace("hf://", "") in said
    assert hint in what_to_do


def test_offline(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    local(Path("hf://o/r/t.gguf"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert local(Path("hf://o/r/t.gguf")).name == "t.gguf"
    error, _ = fails("hf://o/r/in/side/u.gguf", 1)
    assert "cannot be downloaded, and is not in the hub's cache" in error


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    error, hint = fails("hf://o/r/t.gguf", 1)
    assert error == "hf:// needs the package huggingface_hub"
    assert hint == "pip install 'mobius-cli[hub]'"


def test_commands(hub: FakeHub, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every place where a GGUF file may be given; the folder is named after the file."""
    monkeypatch.chdir(tmp_path)
    done = mobius("convert", "hf://o/r/t.gguf", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["folder"] == "t_onnx"
    assert done.stderr == ""
    several = mobius("convert", "hf://o/r/t.gguf", "hf://o/r/q/s-00002-of-00003.gguf", "-o", "many")
    assert several.exit_code == 0, several.stderr
    assert sorted(path.name for path in Path("many").iterdir()) == ["s_onnx", "t_onnx"]
    assert mobius("build", "--gguf", "hf://o/r/t.gguf", "--output", "built").exit_code == 0
    assert mobius("tokenize", "hf://o/r/t.gguf", "hello").stdout == mobius("tokenize", tiny, "hello").stdout
    assert "t.gguf" in mobius("inspect", "hf://o/r/t.gguf").stdout


@pytest.mark.parametrize(
    "arguments",
    [("verify", "d", "hf://o/x/t.gguf"), ("verify", "d", "--gguf", "hf://o/x/t.gguf"),
     ("bench", "d", "--gguf", "hf://o/x/t.gguf"), ("tokenize", "d", "a", "--compare", "--gguf", "hf://o/x/t.gguf")],
)  # fmt: skip
def test_files_for_llama_cpp(hub: FakeHub, arguments: tuple[str, ...]) -> None:
    done = mobius(*arguments)
    assert done.exit_code == 1
    assert "no repository o/x" in done.stderr


def test_nothing_is_imported_without_an_address() -> None:
    code = "import sys\nfrom mobius_cli.app import main\nsys.argv = ['mobius', 'inspect', 'none.gguf']\n" \
           "try: main()\nexcept SystemExit: print('huggingface_hub' in sys.modules)"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False)
    assert done.stdout == "False\n"


def test_bars_come_back(hub: FakeHub) -> None:
    from huggingface_hub import utils

    utils.logging.set_verbosity_warning()
    before = utils.are_progress_bars_disabled(), utils.logging.get_verbosity()
    with module._talking(sys.modules["huggingface_hub"], aloud=False):
        assert utils.are_progress_bars_disabled()
    assert (utils.are_progress_bars_disabled(), utils.logging.get_verbosity()) == before
