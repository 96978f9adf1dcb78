"""Models split over several files: found from any of them, and refused when they do not belong together."""

from pathlib import Path

import pytest

from converters.sources.gguf.file import GgufFile
from repack.errors import InputError
from tests.converters.sources.gguf.test_file import check_metadata, check_tensors, write_model, write_split
from tests.support import raw_gguf as raw


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("single") / "model.gguf")


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    return write_split(tmp_path)


def test_split_opens_from_any_file(shards: list[Path], model_path: Path) -> None:
    assert [path.name for path in shards] == [f"model-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    with GgufFile.open(model_path) as whole:
        for path in shards:
            with GgufFile.open(path) as model:
                assert model.path == path and model.shards == tuple(shards)
                assert model.size == sum(shard.stat().st_size for shard in shards)
                check_metadata(model)
                check_tensors(model, shards)
                assert list(model.tensors) == list(whole.tensors)
                assert all((model.raw(name) == whole.raw(name)).all() for name in whole.tensors)


def test_split_with_metadata_only_in_first(tmp_path: Path) -> None:
    shards = write_split(tmp_path, small_first_shard=True)
    assert len(shards) == 4
    with GgufFile.open(shards[2]) as model:
        check_metadata(model)
        check_tensors(model, shards)
        assert all(tensor.shard > 0 for tensor in model.tensors.values())


def test_split_with_odd_keys(tmp_path: Path) -> None:
    """An architecture that is an array is the reader's business, not the container's."""
    odd = raw.key_value("general.architecture", raw.ARRAY, raw.array(raw.U32, 2, bytes(8)))
    first = raw.gguf_bytes([odd, *split_keys(0, 2, 2)], [raw.tensor("a", [8])], bytes(32))
    second = raw.gguf_bytes([odd, *split_keys(1, 2, 2)], [raw.tensor("b", [8])], bytes(32))
    with GgufFile.open(pair(tmp_path, first, second)) as model:
        assert list(model.tensors) == ["a", "b"]


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        GgufFile.open(path)
    assert caught.value.message.isprintable() and caught.value.hint.isprintable()
    return caught.value


def test_split_names_missing_files(shards: list[Path]) -> None:
    shards[0].unlink()
    shards[2].unlink()
    message = refused(shards[1]).message
    assert "2 of 3" in message and shards[0].name in message and shards[2].name in message


def test_split_renamed(shards: list[Path]) -> None:
    alone = shards[1].rename(shards[1].with_name("part-two.gguf"))
    error = refused(alone)
    assert "file 2 of 3" in error.message and "-00002-of-00003.gguf" in error.hint


def test_split_name_with_another_count(shards: list[Path]) -> None:
    alone = shards[0].rename(shards[0].with_name("model-00001-of-00004.gguf"))
    assert "name says 4 files, but key 'split.count' says 3" in refused(alone).message


def test_split_files_swapped(shards: list[Path]) -> None:
    spare = shards[1].rename(shards[1].with_name("spare"))
    shards[2].rename(shards[1])
    spare.rename(shards[2])
    assert "'split.no' is 2, expected 1" in refused(shards[0]).message


def split_keys(number: int, count: int, tensors: int, **extra: str) -> list[bytes]:
    numbers = {"split.no": number, "split.count": count, "split.tensors.count": tensors}
    return [raw.key_u32(k, v) for k, v in numbers.items()] + [raw.key_string(k, v) for k, v in extra.items()]


def pair(folder: Path, first: bytes, second: bytes) -> Path:
    path = folder / "m-00001-of-00002.gguf"
    path.write_bytes(first)
    path.with_name("m-00002-of-00002.gguf").write_bytes(second)
    return path


def shard(keys: list[bytes], name: str) -> bytes:
    return raw.gguf_bytes(keys, [raw.tensor(name, [8])], bytes(32))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (split_keys(0, 2, 2), split_keys(1, 3, 2), "'split.count' is 3, expected 2"),
        (split_keys(0, 2, 2), [], "'split.no' is missing, expected 1"),
        (split_keys(0, 2, 2), split_keys(1, 2, 9), "'split.tensors.count' is '9', but '2'"),
        (split_keys(0, 2, 3), split_keys(1, 2, 3), "says 3 tensors, but its 2 files hold 2"),
        (
            [raw.ARCHITECTURE, *split_keys(0, 2, 2)],
            [raw.key_string("general.architecture", "qwen2"), *split_keys(1, 2, 2)],
            "is 'qwen2', but 'llama' in",
        ),
        ([raw.key_string("split.count", "2")], [], "'split.count' is not a count"),
    ],
)
def test_split_files_of_another_model(first: list[bytes], second: list[bytes], words: str, tmp_path: Path) -> None:
    assert words in refused(pair(tmp_path, shard(first, "a"), shard(second, "b"))).message


def test_split_tensor_in_two_files(tmp_path: Path) -> None:
    path = pair(tmp_path, shard(split_keys(0, 2, 2), "a"), shard(split_keys(1, 2, 2), "a"))
    assert "tensor 'a' is also in" in refused(path).message


def test_split_damaged_second_file(tmp_path: Path) -> None:
    path = pair(tmp_path, shard(split_keys(0, 2, 2), "a"), shard(split_keys(1, 2, 2), "b")[:-1])
    error = refused(path)
    assert "m-00002-of-00002.gguf" in error.message and "cut short" in error.message


def test_one_file_under_a_split_name(tmp_path: Path) -> None:
    """A merged file that kept the name of its first part, and gguf-split with one part only."""
    for name, keys in (("m-00001-of-00003.gguf", []), ("m-00001-of-00001.gguf", split_keys(0, 1, 1))):
        (tmp_path / name).write_bytes(shard(keys, "a"))
        with GgufFile.open(tmp_path / name) as model:
            assert list(model.tensors) == ["a"]


def test_huge_split_count_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m-00001-of-99999.gguf"
    path.write_bytes(shard(split_keys(0, 99999, 1), "a"))
    assert "claims 99999 files" in refused(path).message
