"""Reading GGUF files: the same metadata and tensor bytes as the `gguf` package reads, one file or several."""

import struct
import time
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from converters.sources.gguf.file import GgufFile
from converters.sources.gguf.types import TENSOR_TYPES
from tests.support import raw_gguf as raw

Type = gguf.GGUFValueType
RNG_SEED = 7

SCALARS: dict[str, tuple[Any, Type]] = {
    "u8": (250, Type.UINT8),
    "i8": (-100, Type.INT8),
    "u16": (65000, Type.UINT16),
    "i16": (-30000, Type.INT16),
    "u32": (4_000_000_000, Type.UINT32),
    "i32": (-2_000_000_000, Type.INT32),
    "f32": (0.1, Type.FLOAT32),
    "u64": (1 << 63, Type.UINT64),
    "i64": (-(1 << 62), Type.INT64),
    "f64": (0.1, Type.FLOAT64),
    "yes": (True, Type.BOOL),
    "no": (False, Type.BOOL),
    "text": ("naïve 🙂\n", Type.STRING),
}
ARRAYS: dict[str, tuple[Any, Type | None, type[np.generic]]] = {
    "au8": ([1, 255], Type.UINT8, np.uint8),
    "ai8": ([-1, 127], Type.INT8, np.int8),
    "au16": ([1, 65535], Type.UINT16, np.uint16),
    "ai16": ([-1, 32767], Type.INT16, np.int16),
    "au32": ([1, 4_000_000_000], Type.UINT32, np.uint32),
    "ai32": ([-1, 2], Type.INT32, np.int32),
    "af32": ([0.1, -2.5], Type.FLOAT32, np.float32),
    "au64": ([1, 1 << 63], Type.UINT64, np.uint64),
    "ai64": ([-1, 2], Type.INT64, np.int64),
    "af64": ([0.1, -2.5], Type.FLOAT64, np.float64),
    "abool": ([True, False, True], Type.BOOL, np.bool_),
}


def add_tensors(writer: gguf.GGUFWriter) -> None:
    """A float tensor of each number of dimensions, and random blocks of several types."""
    rng = np.random.default_rng(RNG_SEED)
    for n_dims in (1, 2, 3, 4):
        shape = (2, 3, 4, 5)[-n_dims:]
        writer.add_tensor(f"f32_{n_dims}d", rng.standard_normal(shape, np.float32))
    writer.add_tensor("f16", rng.standard_normal((3, 5)).astype(np.float16))
    writer.add_tensor("i32", np.arange(7, dtype=np.int32))
    for name in ("Q4_0", "Q8_0", "Q4_K", "Q6_K", "IQ4_XS", "MXFP4", "BF16"):
        kind = gguf.GGMLQuantizationType[name]
        row_bytes = TENSOR_TYPES[kind].block_bytes * (512 // TENSOR_TYPES[kind].block_size)
        blocks = rng.integers(0, 256, (3, row_bytes), dtype=np.uint8)
        writer.add_tensor(f"blk.0.{name}", blocks, raw_dtype=kind)


def write_model(path: Path, **options: Any) -> Path:
    """Write a model with every kind of key and tensor; `options` go to GGUFWriter."""
    writer = gguf.GGUFWriter(path, "llama", **options)
    for key, (value, kind) in SCALARS.items():
        writer.add_key_value(f"scalar.{key}", value, kind)
    for key, (value, item, _) in ARRAYS.items():
        writer.add_key_value(f"array.{key}", value, Type.ARRAY, sub_type=item)
    writer.add_array("tokens", ["<s>", "▁a", "", "x" * 300])
    writer.add_array("nested", [[1, 2], [3]])
    writer.add_array("nested_text", [["a"], ["b", "c"]])
    add_tensors(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("single") / "model.gguf")


def check_tensors(model: GgufFile, paths: list[Path]) -> None:
    """Compare names, order, types and bytes with what GGUFReader finds in the same files."""
    expected = {tensor.name: (tensor, shard) for shard, p in enumerate(paths) for tensor in gguf.GGUFReader(p).tensors}
    assert list(model.tensors) == list(expected)
    for name, (tensor, shard) in expected.items():
        info = model.tensors[name]
        assert info.name == name and info.shard == shard
        assert info.shape == tuple(int(size) for size in reversed(tensor.shape))
        assert (info.type_id, info.type_name) == (int(tensor.tensor_type), tensor.tensor_type.name)
        assert (info.nbytes, info.offset) == (tensor.n_bytes, tensor.data_offset)
        data = model.raw(name)
        assert data.shape[0] == int(np.prod(info.shape[:-1])) and data.dtype == np.uint8
        assert data.tobytes() == np.ascontiguousarray(tensor.data).tobytes()


def check_metadata(model: GgufFile) -> None:
    metadata = model.metadata
    for key, (value, _) in SCALARS.items():
        found = metadata[f"scalar.{key}"]
        assert type(found) is type(value)
        assert found == (float(np.float32(value)) if key == "f32" else value)
    for key, (value, _, dtype) in ARRAYS.items():
        found = metadata[f"array.{key}"]
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.array(value, dtype))
    assert metadata["tokens"] == ["<s>", "▁a", "", "x" * 300]
    assert [item.tolist() for item in metadata["nested"]] == [[1, 2], [3]]
    assert metadata["nested_text"] == [["a"], ["b", "c"]]


def test_same_as_reference(model_path: Path) -> None:
    with GgufFile.open(str(model_path)) as model:
        assert (model.path, model.shards, model.version) == (model_path, (model_path,), 3)
        assert model.size == model_path.stat().st_size
        check_metadata(model)
        check_tensors(model, [model_path])
        fields = [key for key in gguf.GGUFReader(model_path).fields if not key.startswith("GGUF.")]
        assert list(model.metadata) == fields


def test_version_2(model_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "v2.gguf"
    data = bytearray(model_path.read_bytes())
    data[4:8] = struct.pack("<I", 2)
    path.write_bytes(data)
    with GgufFile.open(path) as model:
        assert model.version == 2
        check_metadata(model)
        check_tensors(model, [path])


@pytest.mark.parametrize("alignment", [8, 4096])
def test_alignment(alignment: int, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(alignment)
    add_tensors(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with GgufFile.open(path) as model:
        assert model.alignment == alignment
        check_tensors(model, [path])


def test_metadata_is_a_mapping(model_path: Path) -> None:
    with GgufFile.open(model_path) as model:
        metadata = model.metadata
        assert "tokens" in metadata and "none" not in metadata and 3 not in metadata
        assert metadata.get("none", 5) == 5 and len(metadata) == len(dict(metadata))
        with pytest.raises(KeyError):
            metadata["none"]
        assert metadata.array_length("tokens") == 4 and metadata.array_length("array.abool") == 3
        assert metadata.array_length("scalar.u8") is None
        assert metadata.value_type("scalar.u16") == Type.UINT16
        assert metadata["tokens"] is metadata["tokens"]  # decoded once


def test_metadata_bytes_rebuild_the_header(model_path: Path) -> None:
    with GgufFile.open(model_path) as model:
        joined = b"".join(model.metadata_bytes().values())
    assert model_path.read_bytes()[24 : 24 + len(joined)] == joined


def test_views_are_read_only_and_outlive_close(model_path: Path) -> None:
    model = GgufFile.open(model_path)
    data, scores = model.raw("f32_2d"), model.metadata["array.af32"]
    before = data.tobytes()
    for array in (data, scores, model.metadata["array.abool"]):
        with pytest.raises(ValueError):
            array[...] = 0
    model.close()
    assert data.tobytes() == before and scores[1] == -2.5
    model.close()


def test_all_types_of_gguf_and_newer() -> None:
    for kind, sizes in gguf.GGML_QUANT_SIZES.items():
        assert (TENSOR_TYPES[kind].block_size, TENSOR_TYPES[kind].block_bytes) == sizes
    assert (TENSOR_TYPES[41].block_size, TENSOR_TYPES[41].block_bytes) == (128, 18)
    assert (TENSOR_TYPES[42].block_size, TENSOR_TYPES[42].block_bytes) == (64, 18)


def test_large_vocabulary_opens_fast(tmp_path: Path) -> None:
    tokens = [raw.string(f"token {n}") for n in range(262_144)]
    keys = [raw.key_value("tokens", raw.ARRAY, raw.array(raw.STRING, len(tokens), b"".join(tokens)))]
    path = tmp_path / "model.gguf"
    path.write_bytes(raw.gguf_bytes(keys))
    start = time.process_time()
    with GgufFile.open(path) as model:
        assert time.process_time() - start < 0.3  # about 0.03 on an idle core
        assert model.metadata.array_length("tokens") == len(tokens)
        assert model.metadata["tokens"][-1] == "token 262143"


def write_split(folder: Path, **options: Any) -> list[Path]:
    write_model(folder / "model.gguf", split_max_tensors=5, **options)
    return sorted(folder.iterdir())
