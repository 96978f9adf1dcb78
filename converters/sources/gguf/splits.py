"""Models split over several GGUF files: find all of them and check that they belong together.

Naming and keys are those of llama.cpp's `gguf-split`: files `NAME-00001-of-00003.gguf`, each with its own
header and the keys `split.no` (from 0), `split.count` and `split.tensors.count` (over all files). All other
metadata is in the first file, which may hold no tensors.
"""

import re
from pathlib import Path

from converters.sources.gguf.cursor import shown
from converters.sources.gguf.header import GgufHeader, TensorInfo
from converters.sources.gguf.open import listed
from repack.errors import InputError

_SHARD_NAME = re.compile(r"(?P<prefix>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<suffix>\.gguf)", re.IGNORECASE)
MAX_SHARDS = 4096  # real models: some hundred
_ONE_DOWNLOAD = "Download all files of the model again, into one folder and under their original names."


def split_number(header: GgufHeader, key: str) -> int | None:
    """Return an integer key `split.*`, None when the file has none. Raises InputError for another type."""
    value = header.metadata.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise InputError(f"{header.path}: key '{key}' is not a count", _ONE_DOWNLOAD)
    return value


def part_names(name: str) -> list[str]:
    """The names of all files of a split model, in order, given that of any one; only itself for another name."""
    match = _SHARD_NAME.fullmatch(name)
    if match is None or not 1 <= int(match["count"]) <= MAX_SHARDS:
        return [name]
    count = match["count"]
    return [f"{match['prefix']}-{number:05}-of-{count}{match['suffix']}" for number in range(1, int(count) + 1)]


def shard_paths(path: Path, header: GgufHeader) -> tuple[Path, ...]:
    """Return the paths of all files of the model, in order, given any one of them and its header.

    A model in one file gives that file. Raises InputError when a file is missing, or when the name of this
    one does not follow the naming of `gguf-split` or contradicts its `split.count`.
    """
    count = split_number(header, "split.count") or 1
    if count == 1:
        return (path,)
    if count > MAX_SHARDS:
        raise InputError(f"{path}: claims {count} files (at most {MAX_SHARDS} are read)", _ONE_DOWNLOAD)
    match = _SHARD_NAME.fullmatch(path.name)
    if match is None:
        number = (split_number(header, "split.no") or 0) + 1
        raise InputError(
            f"{path}: is file {number} of {count} of a split model, but its name does not say so",
            f"Name the files as gguf-split does: NAME-{number:05}-of-{count:05}.gguf.",
        )
    if int(match["count"]) != count:
        raise InputError(
            f"{path}: the name says {int(match['count'])} files, but key 'split.count' says {count}",
            _ONE_DOWNLOAD,
        )
    paths = tuple(path.with_name(name) for name in part_names(path.name))
    missing = [shard.name for shard in paths if not shard.exists()]
    if missing:
        raise InputError(
            f"{path}: {len(missing)} of {count} files of this split model are missing: {listed(missing, 5)}",
            f"Put all files into {path.parent}.",
        )
    return paths


def merge_shards(headers: list[GgufHeader]) -> dict[str, TensorInfo]:
    """Join the tensor directories of all files of a model, in file order.

    Raises InputError when the files contradict each other: `split.no`, `split.count` or `split.tensors.count`
    differ, another architecture, a tensor in two files, or a wrong number of tensors.
    """
    if len(headers) == 1:
        return headers[0].tensors
    tensors: dict[str, TensorInfo] = {}
    for index, header in enumerate(headers):
        _check_shard(header, headers[0], index, len(headers))
        for name, tensor in header.tensors.items():
            if name in tensors:
                first = headers[tensors[name].shard].path
                raise InputError(f"{header.path}: tensor {shown(name)} is also in {first}", _ONE_DOWNLOAD)
            tensors[name] = tensor
    expected = split_number(headers[0], "split.tensors.count")
    if expected is not None and expected != len(tensors):
        raise InputError(
            f"{headers[0].path}: key 'split.tensors.count' says {expected} tensors, "
            f"but its {len(headers)} files hold {len(tensors)}",
            _ONE_DOWNLOAD,
        )
    return tensors


def _check_shard(header: GgufHeader, first: GgufHeader, index: int, count: int) -> None:
    for key, wanted in (("split.no", index), ("split.count", count)):
        value = split_number(header, key)
        if value != wanted:
            found = "missing" if value is None else str(value)
            raise InputError(
                f"{header.path}: key '{key}' is {found}, expected {wanted}: "
                "the file is renamed or belongs to another model",
                _ONE_DOWNLOAD,
            )
    for key in ("split.tensors.count", "general.architecture"):
        ours, theirs = first.metadata.get(key), header.metadata.get(key)
        comparable = isinstance(ours, str | int) and isinstance(theirs, str | int)
        if comparable and ours != theirs:
            raise InputError(
                f"{header.path}: key '{key}' is {shown(str(theirs))}, "
                f"but {shown(str(ours))} in {first.path}: the file belongs to another model",
                _ONE_DOWNLOAD,
            )
