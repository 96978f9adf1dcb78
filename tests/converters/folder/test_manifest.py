"""`mobius.json`: there and back, and what is said of one that is old, new, damaged, or of another folder."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from converters.folder.manifest import FORMAT, MANIFEST, Manifest, read_manifest
from converters.folder.source_file import SourceFile
from converters.folder.writer import write_json
from repack.errors import InputError, MobiusError
from tests.support.manifests import example

MISSING = object()


def written(folder: Path, **changes: Any) -> Path:
    """A folder of the example's, with other entries at the top of its manifest."""
    manifest = example()
    for name, size in manifest.files.items():
        (folder / name).write_bytes(b"x" * size)
    data = {**manifest.as_dict(), **changes}
    write_json(folder / MANIFEST, {key: value for key, value in data.items() if value is not MISSING})
    return folder


def refusal(folder: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_manifest(folder)
    assert "\n" not in caught.value.message and caught.value.hint
    return caught.value


def test_there_and_back(tmp_path: Path) -> None:
    found, wanted = read_manifest(written(tmp_path)), example()
    table = found.metadata["llama.table"]
    assert table.dtype == np.int32 and np.array_equal(table, wanted.metadata["llama.table"])
    same = {**found.metadata, "llama.table": wanted.metadata["llama.table"]}
    assert replace(found, metadata=same) == wanted
    assert found.as_dict() == json.loads((tmp_path / MANIFEST).read_text())
    assert next(iter(found.as_dict())) == "format"


def test_what_it_tells() -> None:
    manifest = example()
    assert (manifest.architecture, manifest.vocab, manifest.name, manifest.source_bytes) == ("llama", 320, "tiny", 1333)
    assert not manifest.in_place
    assert example(states=manifest.states[:2]).in_place
    assert manifest.state_bytes(10) - manifest.state_bytes(9) == 2 * 2 * 64 * 2
    assert manifest.state_bytes(0) == 96 * 3 * 4
    assert example(metadata={}).name == "a.gguf"


@pytest.mark.parametrize(
    ("found", "words", "hint"),
    [(FORMAT - 1, "is of an older mobius 0.1.0: format 4, this one reads 5", "convert the GGUF again"),
     (FORMAT + 1, "is of a newer mobius 0.1.0: format 6, this one reads 5", "update mobius")],
)  # fmt: skip
def test_other_formats(tmp_path: Path, found: int, words: str, hint: str) -> None:
    error = refusal(written(tmp_path, format=found, tensors=MISSING))
    assert words in error.message and hint in error.hint


@pytest.mark.parametrize("found", [MISSING, "2", True, None, 2.0, [2]])
def test_what_is_no_format(tmp_path: Path, found: Any) -> None:
    if found is True or found == 2.0:
        found = [found]  # equal to a number in Python
    assert '"format" is' in refusal(written(tmp_path, format=found)).message


@pytest.mark.parametrize("key", [key for key in example().as_dict() if key not in ("format", "hashes")])
def test_missing_entries(tmp_path: Path, key: str) -> None:
    error = refusal(written(tmp_path, **{key: MISSING}))
    assert f"{MANIFEST} cannot be read: '{key}' is missing" in error.message
    assert "convert the model again" in error.hint


@pytest.mark.parametrize("key", [key for key in example().as_dict() if key != "format"])
@pytest.mark.parametrize("value", [None, 5, "x", [5], {"a": None}, [{}]], ids=repr)
def test_entries_of_another_type(tmp_path: Path, key: str, value: Any) -> None:
    if (key, value) in (("metadata", {"a": None}), ("warnings", []), ("hidden", "x")):
        pytest.skip("as it may be")
    assert f"{MANIFEST} cannot be read: {key}: " in refusal(written(tmp_path, **{key: value})).message


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("target", "context_length"), "512", "target: '512' where int is expected"),
        (("target", "oldest_runtime"), 1, "target: "),
        (("target", "norms_heads"), MISSING, "target: 'norms_heads' is missing"),
        (("target", "dequantize"), 0, "target: 0 where bool is expected"),
        (("tokenizer", "eos_token_ids"), [2, None], "tokenizer: None where int is expected"),
        (("tokenizer", "bos_token_id"), True, "tokenizer: True where int is expected"),
        (("spec", "vocab"), "many", "spec: 'many' where int is expected"),
        (("states", 0, "shape"), ["nobody", 1], "states: "),
        (("states", 0, "dtype"), "float99", "states: dtype 'float99' is not one of"),
        (("states", 1, "part"), MISSING, "states: 'part' is missing"),
        (("routers", 0, "used"), "2", "routers: '2' where int is expected"),
        (("routers", 0, "scores"), MISSING, "routers: 'scores' is missing"),
        (("tensors", 0, "roundings", "scale", "count"), 1.5, "tensors: 1.5 where int is expected"),
        (("tensors", 1, "values"), ["a"], "tensors: 'a' where float is expected"),
        (("tensors", 0, "shape"), "4x4", "tensors: '4x4' where list is expected"),
        (("source",), [], "source: no file is named"),
        (("files", "model.onnx"), "10", "files: '10' where int is expected"),
        (("files", "model.onnx"), MISSING, "files: 0 graphs where one is expected"),
        (("files", "onnx/model.onnx"), 10, "files: 2 graphs where one is expected"),
        (("files",), [], "files: [] where dict is expected"),
        (("metadata", "llama.table", "dtype"), "int33", "metadata: "),
    ],
)
def test_inner_entries(tmp_path: Path, path: tuple[Any, ...], value: Any, words: str) -> None:
    data = json.loads(json.dumps(example().as_dict()))
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    if value is MISSING:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    assert f"cannot be read: {words}" in refusal(written(tmp_path, **data)).message


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"format": 3, "tool"', "[" * 100_000, "\udcff"])
def test_what_is_no_manifest(tmp_path: Path, text: str) -> None:
    written(tmp_path)
    (tmp_path / MANIFEST).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert f"{MANIFEST} cannot be read: " in refusal(tmp_path).message


def test_folders_that_are_none(tmp_path: Path) -> None:
    assert f"{tmp_path} has no mobius.json" in refusal(tmp_path).message
    assert "is not a folder" in refusal(tmp_path / "nowhere").message


def test_files_that_are_missing_or_cut(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "model.onnx_data").write_bytes(b"x" * 699)
    assert "model.onnx_data has 699 bytes instead of 700" in refusal(tmp_path).message
    (tmp_path / "model.onnx_data").unlink()
    error = refusal(tmp_path)
    assert "model.onnx_data is missing" in error.message and "--force" in error.hint


def test_the_file_that_was_converted(tmp_path: Path) -> None:
    first, second, other = (tmp_path / name for name in "abc")
    for path, content in ((first, b"one"), (second, b"three"), (other, b"eno")):
        path.write_bytes(content)
    manifest = example(source=(SourceFile.of(first), SourceFile.of(second)))
    manifest.require_source([first, second])
    same = second.rename(tmp_path / "under another name")
    manifest.require_source([first, same])
    words = "is not the file that was converted"
    for paths in ([other, same], [first, other], [same, first], [first], [first, same, same]):
        with pytest.raises(MobiusError, match=words) as caught:
            manifest.require_source(paths)
        assert "give that file, or convert this one" in caught.value.hint
    with pytest.raises(MobiusError, match=rf"c {words} \(a, 3 bytes, SHA-256 7692c3ad3540\.\.\.\)"):
        manifest.source[0].require(other)


def test_only_a_file_of_the_right_size_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"xyz")
    monkeypatch.setattr("converters.folder.source_file.sha256_of", lambda path: pytest.fail("it was read"))
    with pytest.raises(MobiusError, match="is not the file"):
        SourceFile("a", "ab" * 32, 4).require(tmp_path / "a")


def test_a_manifest_needs_a_file() -> None:
    with pytest.raises(ValueError, match="source: no file is named"):
        Manifest.from_dict({**example().as_dict(), "source": []})
