"""The float32 copy: same keys, weights as the reference expands them, one plain file."""

import shutil
from collections import namedtuple
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize

from converters.sources.gguf import f32_copy
from converters.sources.gguf.f32_copy import write_f32_copy
from converters.sources.gguf.file import GgufFile
from repack.errors import MobiusError
from tests.converters.sources.gguf.test_file import write_model, write_split
from tests.support import raw_gguf as raw


def check_copy(source: Path, copy: Path) -> None:
    with GgufFile.open(source) as model:
        reader = gguf.GGUFReader(copy)
        assert [tensor.name for tensor in reader.tensors] == list(model.tensors)
        for tensor in reader.tensors:
            info = model.tensors[tensor.name]
            assert tuple(int(size) for size in reversed(tensor.shape)) == info.shape
            if info.type_name == "I32":
                assert tensor.tensor_type == gguf.GGMLQuantizationType.I32
                assert tensor.data.tobytes() == model.raw(tensor.name).tobytes()
            else:
                assert tensor.tensor_type == gguf.GGMLQuantizationType.F32
                expected = dequantize(model.raw(tensor.name), gguf.GGMLQuantizationType(info.type_id))
                assert tensor.data.tobytes() == expected.tobytes()
        kept = {key: data for key, data in model.metadata_bytes().items() if not key.startswith("split.")}
    with GgufFile.open(copy) as copied:
        assert copied.metadata_bytes() == kept
        assert copied.version == 3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # random bytes make NaN scales
def test_same_weights_and_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, copy = write_model(tmp_path / "model.gguf"), tmp_path / "copy.gguf"
    monkeypatch.setattr(f32_copy, "_CHUNK_WEIGHTS", 512)  # several chunks a tensor
    calls: list[tuple[int, int]] = []
    with GgufFile.open(source) as model:
        write_f32_copy(model, copy, lambda done, total: calls.append((done, total)))
        total = 4 * sum(int(np.prod(tensor.shape)) for tensor in model.tensors.values())
    assert calls[-1] == (total, total) and {call[1] for call in calls} == {total}
    assert [call[0] for call in calls] == sorted({call[0] for call in calls})
    check_copy(source, copy)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.gguf", "model.gguf"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_split_becomes_one_file(tmp_path: Path) -> None:
    (tmp_path / "split").mkdir()
    shards = write_split(tmp_path / "split")
    with GgufFile.open(shards[1]) as model:
        write_f32_copy(model, tmp_path / "copy.gguf")
    check_copy(shards[0], tmp_path / "copy.gguf")


def test_file_type_and_alignment(tmp_path: Path) -> None:
    source, copy = tmp_path / "model.gguf", tmp_path / "copy.gguf"
    keys = [raw.key_u32("general.file_type", 15), raw.key_u32("general.alignment", 64), raw.key_u32("x", 1)]
    tensors = [raw.tensor("a", [5]), raw.tensor("b", [32], raw.Q4_0, 64)]
    source.write_bytes(raw.gguf_bytes(keys, tensors, bytes(range(128)), version=2, alignment=64))
    with GgufFile.open(source) as model:
        write_f32_copy(model, copy)
    with GgufFile.open(copy) as copied:
        assert dict(copied.metadata) == {"general.file_type": 0, "general.alignment": 64, "x": 1}
        assert copied.tensors["b"].offset % 64 == 0 and copied.size % 64 == 0
        assert copied.raw("a").tobytes() == bytes(range(20))


def test_no_tensors(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(raw.gguf_bytes([raw.ARCHITECTURE]))
    with GgufFile.open(tmp_path / "model.gguf") as model:
        write_f32_copy(model, tmp_path / "copy.gguf")
    assert (tmp_path / "copy.gguf").read_bytes() == (tmp_path / "model.gguf").read_bytes()


@pytest.mark.parametrize(("type_id", "words"), [(156, "type 156"), (31, "Q4_0_4_4"), (15, "Q8_K"), (42, "Q2_0")])
def test_refuses_what_the_reference_cannot_expand(type_id: int, words: str, tmp_path: Path) -> None:
    source = tmp_path / "model.gguf"
    source.write_bytes(raw.one_tensor([256], type_id, bytes(320)))
    with GgufFile.open(source) as model, pytest.raises(MobiusError) as caught:
        write_f32_copy(model, tmp_path / "copy.gguf")
    assert "'a'" in caught.value.message and words in caught.value.message
    assert list(tmp_path.iterdir()) == [source]


def test_refuses_to_overwrite_its_source(tmp_path: Path) -> None:
    source = write_model(tmp_path / "model.gguf")
    before = source.read_bytes()
    with GgufFile.open(source) as model, pytest.raises(MobiusError, match="being copied"):
        write_f32_copy(model, tmp_path / "." / "model.gguf")
    assert source.read_bytes() == before


def test_refuses_a_full_disk_and_a_missing_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with GgufFile.open(write_model(tmp_path / "model.gguf")) as model:
        with pytest.raises(MobiusError, match="cannot be written: No such file"):
            write_f32_copy(model, tmp_path / "none" / "copy.gguf")
        usage = namedtuple("usage", "total used free")
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(9, 9, 1000))
        with pytest.raises(MobiusError, match="GB are free"):
            write_f32_copy(model, tmp_path / "copy.gguf")
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def test_leaves_nothing_when_stopped(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with GgufFile.open(write_model(tmp_path / "model.gguf")) as model, pytest.raises(KeyboardInterrupt):
        write_f32_copy(model, tmp_path / "copy.gguf", stop)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]
