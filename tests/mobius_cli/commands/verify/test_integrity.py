"""`mobius verify --integrity`: every file by its hash, and what hashing costs while a folder is written."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from converters.folder import stream_hash
from converters.folder.stream_hash import StreamHash
from tests.support.cli import contents, mobius
from tests.support.tiny import SMALL, write_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("integrity")
    extra = {"tokenizer.chat_template": "{{ messages[0].content }}"}
    write_tiny(base / "m.gguf", "llama", **SMALL, extra_metadata=extra)
    assert mobius("convert", base / "m.gguf", "-o", base / "m").exit_code == 0
    return base / "m"


def test_every_file_has_its_hash(folder: Path) -> None:
    hashes = json.loads((folder / "mobius.json").read_text())["hashes"]
    own = hashes.pop("mobius.json")
    assert len(own) == 64
    assert hashes == {
        name: hashlib.sha256(raw).hexdigest() for name, raw in contents(folder).items() if name != "mobius.json"
    }
    done = mobius("verify", folder, "--integrity")
    assert done.exit_code == 0 and done.stdout.startswith(f"PASS: {len(hashes) + 1} files")


def test_the_data_is_hashed_while_it_is_written(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("the data was read once more")

    monkeypatch.setattr(stream_hash, "sha256_of", read)
    done = mobius("convert", folder.parent / "m.gguf", "-o", tmp_path / "again")
    assert done.exit_code == 0 and contents(tmp_path / "again") == contents(folder)


@pytest.mark.parametrize(
    "name", ["model.onnx", "model.onnx_data", "tokenizer.json", "chat_template.jinja", "config.json", "mobius.json"]
)
def test_a_byte_that_changed(folder: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    raw = bytearray((tmp_path / "copy" / name).read_bytes())
    place = raw.rindex(b"llama") if name == "mobius.json" else len(raw) // 2
    raw[place] ^= 1
    (tmp_path / "copy" / name).write_bytes(raw)
    done = mobius("verify", tmp_path / "copy", "--integrity", "--json")
    assert done.exit_code == 1, done.stderr
    assert list(json.loads(done.stdout)["changed"]) == [name]


def test_what_people_may_change(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "README.md").write_text("mine")
    (tmp_path / "copy" / "notes.txt").write_text("mine too")
    done = mobius("verify", tmp_path / "copy", "--integrity", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["notes"] == ["README.md was changed", "notes.txt is none of the folder's files"]


def test_a_folder_without_hashes(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    content = json.loads((folder / "mobius.json").read_text())
    del content["hashes"]
    (tmp_path / "copy" / "mobius.json").write_text(json.dumps(content))
    done = mobius("verify", tmp_path / "copy", "--integrity")
    assert done.exit_code == 1 and "has no hashes of its files" in done.stderr
    assert mobius("verify", folder, "--integrity", "--weights-only").exit_code == 2


@pytest.mark.parametrize("places", [(0, 5, 1 << 21), (0, 3), (7,), (5, 0)])
def test_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: tuple[int, ...]) -> None:
    """Gaps are zeros; pieces that are out of order, and they only, have the file read once more."""
    reads: list[Path] = []

    def read(path: Path) -> str:
        reads.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()

    monkeypatch.setattr(stream_hash, "sha256_of", read)
    pieces = [np.arange(1, 6, dtype=np.uint8) for _ in places]
    with (tmp_path / "f").open("wb") as file:
        hashing = StreamHash()
        for place, piece in zip(places, pieces, strict=True):
            hashing.feed(place, piece)
            file.seek(place)
            file.write(piece)
        file.flush()
        assert hashing.of(tmp_path / "f") == hashlib.sha256((tmp_path / "f").read_bytes()).hexdigest()
    assert bool(reads) == (list(places) != sorted(places) or places == (0, 3))
