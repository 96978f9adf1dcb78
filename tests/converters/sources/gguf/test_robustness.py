"""Damaged, hostile and mistaken files: one clear message each, at once, whatever the file claims."""

import os
import struct
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from converters.sources.gguf.file import GgufFile
from repack.errors import InputError, MobiusError
from tests.support import raw_gguf as raw

LIMIT_SECONDS = 1.0  # generous for a busy machine; each takes below 10 ms


def refused(path: Path) -> InputError:
    """Open a file that must be refused; check what holds for every refusal."""
    start = time.process_time()
    with pytest.raises(InputError) as caught:
        GgufFile.open(path)
    assert time.process_time() - start < LIMIT_SECONDS
    error = caught.value
    assert error.exit_code == 2
    for line in (error.message, error.hint):
        assert line and line.isprintable(), line
        assert len(line) < 400
    assert str(path) in error.message
    return error


@pytest.mark.parametrize("name", raw.MALFORMED)
def test_malformed(name: str, tmp_path: Path) -> None:
    data, words = raw.MALFORMED[name]
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    assert words in refused(path).message


@pytest.mark.parametrize("name", raw.LOOKALIKES)
def test_not_gguf(name: str, tmp_path: Path) -> None:
    data, words = raw.LOOKALIKES[name]
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    assert words in refused(path).message


def test_hints_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    for name, words in (
        ("cut_in_data", "download it again"),
        ("overlap", "another file"),
        ("version_1", "newer file"),
    ):
        path.write_bytes(raw.MALFORMED[name][0])
        assert words in refused(path).hint
    path.write_bytes(raw.LOOKALIKES["lfs_pointer"][0])
    assert "git lfs pull" in refused(path).hint


def test_missing_and_directory(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.gguf").message
    assert "directory" in refused(tmp_path).message
    (tmp_path / "one.gguf").touch()
    assert "one.gguf" in refused(tmp_path).hint


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "not a regular file" in refused(tmp_path / "pipe.gguf").message


@pytest.mark.parametrize("name", ["m.gguf.part1of2", "m.part2of2", "m.gguf-split-a", "m.gguf.part-aa", "m.gguf.001"])
def test_raw_piece(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(raw.one_tensor([8]))
    error = refused(path)
    assert "raw piece" in error.message and "Concatenate" in error.hint and "m.gguf" in error.hint


@pytest.mark.parametrize("name", ["model.part-of-speech.gguf", "m-split-a.gguf", "m", "m.gguf.part", "part1of2.gguf"])
def test_unusual_names_are_no_pieces(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(raw.one_tensor([8]))
    GgufFile.open(path).close()


@pytest.mark.parametrize(
    ("type_id", "name", "words"),
    [
        (4, "Q4_2", "removed"),
        (31, "Q4_0_4_4", "removed"),
        (38, "IQ4_NL_8_8", "removed"),
        (99, "type 99", "none of ggml's"),
        (156, "type 156", "none of ggml's"),
        (0xFFFFFFFF, "type 4294967295", "none of ggml's"),
    ],
)
def test_unreadable_type_is_listed(type_id: int, name: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    entries = [raw.tensor("odd", [256], type_id), raw.tensor("plain", [8], offset=256)]
    path.write_bytes(raw.gguf_bytes([raw.ARCHITECTURE], entries, bytes(288)))
    with GgufFile.open(path) as model:
        assert list(model.tensors) == ["odd", "plain"]
        assert model.tensors["odd"].nbytes is None and model.tensors["odd"].type_name == name
        assert model.raw("plain").shape == (1, 32)
        with pytest.raises(MobiusError) as caught:
            model.raw("odd")
    assert caught.value.exit_code == 1
    assert "'odd'" in caught.value.message and f"type {type_id}" in caught.value.message
    assert words in caught.value.message and "ownload" in caught.value.hint


def test_odd_but_valid(tmp_path: Path) -> None:
    """Things that look wrong and are not the container's business."""
    path = tmp_path / "model.gguf"
    keys = [
        raw.key_string("general.name", b"caf\xe9"),
        raw.key_value("empty", raw.ARRAY, raw.array(raw.U32, 0)),
        raw.key_value("no_strings", raw.ARRAY, raw.array(raw.STRING, 0)),
        raw.key_value("truth", 7, b"\x02"),
        raw.key_value("truths", raw.ARRAY, raw.array(7, 3, b"\x00\x01\x02")),
    ]
    path.write_bytes(raw.gguf_bytes(keys, [raw.tensor("../../etc/passwd", [1])], bytes(4)))
    with GgufFile.open(path) as model:
        assert model.metadata["general.name"] == "caf\ufffd"
        assert model.metadata["empty"].shape == (0,) and model.metadata["no_strings"] == []
        assert model.metadata["truth"] is True and model.metadata["truths"].tolist() == [False, True, True]
        assert list(model.tensors) == ["../../etc/passwd"]


def test_no_tensors_without_padding(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf"
    path.write_bytes(raw.gguf_bytes([raw.ARCHITECTURE], alignment=1))
    with GgufFile.open(path) as model:
        assert model.tensors == {}


def small_model() -> bytes:
    keys = [
        raw.ARCHITECTURE,
        raw.key_u32("general.alignment", 32),
        raw.key_value("tokens", raw.ARRAY, raw.array(raw.STRING, 3, b"".join(map(raw.string, ("a", "bc", ""))))),
        raw.key_value("scores", raw.ARRAY, raw.array(raw.F32, 2, struct.pack("<2f", 0.5, -1))),
        raw.key_value("nested", raw.ARRAY, raw.array(raw.ARRAY, 1, raw.array(raw.U32, 1, bytes(4)))),
        raw.key_value("flag", 7, b"\x01"),
        raw.key_u32("split.count", 1),
    ]
    entries = [raw.tensor("q", [32, 2], raw.Q4_0), raw.tensor("f", [8], offset=64)]
    return raw.gguf_bytes(keys, entries, bytes(96))


SMALL_MODEL = small_model()


@settings(max_examples=400, deadline=2000)
@given(
    edits=st.lists(st.tuples(st.integers(0, len(SMALL_MODEL) - 1), st.integers(0, 255)), max_size=4),
    length=st.one_of(st.just(len(SMALL_MODEL)), st.integers(0, len(SMALL_MODEL))),
)
def test_fuzz(edits: list[tuple[int, int]], length: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = bytearray(SMALL_MODEL)
    for position, value in edits:
        data[position] = value
    path = tmp_path_factory.getbasetemp() / "fuzz.gguf"
    path.write_bytes(data[:length])
    try:
        with GgufFile.open(path) as model:
            dict(model.metadata)
            for name in model.tensors:
                model.raw(name)
    except MobiusError as error:
        assert error.message.isprintable()
