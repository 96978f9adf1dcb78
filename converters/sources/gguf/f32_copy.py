"""Writes a copy of a GGUF model with all weights as float32, for llama.cpp to run as reference.

Weights are expanded by `gguf.quants.dequantize`, the reference that llama.cpp's project publishes, and by
nothing of this project: the copy is what conversions are measured against.
"""

import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType
from gguf.quants import dequantize

from converters.sources.gguf.cursor import U32, U64, shown
from converters.sources.gguf.file import GgufFile, TensorInfo
from converters.sources.gguf.header import align
from converters.sources.gguf.metadata import UINT32
from converters.sources.gguf.open import MAGIC
from converters.sources.gguf.types import TENSOR_TYPES, unreadable_type
from repack.errors import MobiusError

_VERSION = 3
_F32 = 0
_INTEGER_TYPES = frozenset((24, 25, 26, 27))  # I8 to I64 hold indices, not weights, and stay what they are
_FILE_TYPE = "general.file_type"
_ALL_F32 = 0  # value of general.file_type
_CHUNK_WEIGHTS = 1 << 19  # multiple of all block sizes; the reference needs about 30 bytes per weight meanwhile


@dataclass(frozen=True)
class _Planned:
    tensor: TensorInfo
    type_id: int
    nbytes: int
    offset: int  # from the start of the data


def write_f32_copy(source: GgufFile, destination: Path, on_progress: Callable[[int, int], None] | None = None) -> None:
    """Write `source` to `destination` as one GGUF v3 file with float32 weights.

    Metadata records are copied byte for byte, but for `split.*` (the copy is one file) and
    `general.file_type` (0, all float32). Integer tensors are copied unchanged. `on_progress` gets (bytes
    written, bytes in all) of tensor data. The file appears under its name only when complete.

    Raises MobiusError, before anything is written, for a tensor that the reference cannot expand, for too
    little disk space, and when `destination` is a file of `source`; also when writing fails.
    """
    planned = _plan(source)
    header = _header(source, planned)
    part = destination.with_name(destination.name + ".part")
    try:
        _check_destination(source, destination, len(header) + sum(item.nbytes for item in planned))
        try:
            with part.open("wb") as file:
                file.write(header)
                _write_tensors(source, planned, file, on_progress)
            part.replace(destination)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise MobiusError(
            f"{destination}: cannot be written: {error.strerror or error}",
            "Check the folder and its free space.",
        ) from error


def _check_destination(source: GgufFile, destination: Path, needed: int) -> None:
    if destination.exists() and any(destination.samefile(shard) for shard in source.shards):
        raise MobiusError(f"{destination}: is the model that is being copied", "Choose another name.")
    free = shutil.disk_usage(destination.parent).free
    if needed > free:
        raise MobiusError(
            f"{destination}: the float32 copy takes {needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB are free",
            "Free some space or choose another disk.",
        )


def _plan(source: GgufFile) -> list[_Planned]:
    """Lay out the copy. Raises MobiusError for the first tensor whose type cannot be expanded."""
    planned: list[_Planned] = []
    offset = 0
    checked: set[int] = set(_INTEGER_TYPES)
    for tensor in source.tensors.values():
        if tensor.type_id not in checked:
            _check_type(source, tensor)
            checked.add(tensor.type_id)
        keep = tensor.type_id in _INTEGER_TYPES
        nbytes = tensor.nbytes if keep and tensor.nbytes is not None else 4 * math.prod(tensor.shape)
        planned.append(_Planned(tensor, tensor.type_id if keep else _F32, nbytes, offset))
        offset = align(offset + nbytes, source.alignment)
    return planned


def _check_type(source: GgufFile, tensor: TensorInfo) -> None:
    where = f"{source.shards[tensor.shard]}: tensor {shown(tensor.name)}"
    kind = TENSOR_TYPES.get(tensor.type_id)
    if kind is None:
        reason, hint = unreadable_type(tensor.type_id)
        raise MobiusError(f"{where} has {reason}", hint)
    try:
        _expand(np.zeros(kind.block_bytes, np.uint8), tensor.type_id)
    except (NotImplementedError, ValueError) as error:  # ValueError: a type that this release of gguf lacks
        raise MobiusError(
            f"{where} is {kind.name}, which the installed gguf package cannot expand to float32",
            "Update the gguf package, or use a file of another type.",
        ) from error


def _expand(data: npt.NDArray[np.uint8], type_id: int) -> npt.NDArray[np.float32]:
    """Expand whole blocks, uint8 [bytes], to float32 [weights] with the reference."""
    with np.errstate(all="ignore"):  # infinite and NaN scales are the model's, not ours to warn about
        weights = dequantize(data.reshape(1, -1), GGMLQuantizationType(type_id))
    return np.ascontiguousarray(weights, np.float32).reshape(-1)


def _write_tensors(
    source: GgufFile,
    planned: list[_Planned],
    file: BinaryIO,
    on_progress: Callable[[int, int], None] | None,
) -> None:
    """Write the tensor data, in chunks of whole blocks, each tensor padded to the alignment."""
    done, total = 0, sum(item.nbytes for item in planned)
    for item in planned:
        tensor = item.tensor
        kind = TENSOR_TYPES[tensor.type_id]
        # Blocks do not depend on each other, so chunks need not respect rows, and one long row is no problem.
        data = source.raw(tensor.name).reshape(-1)
        step = _CHUNK_WEIGHTS // kind.block_size * kind.block_bytes
        for start in range(0, data.size, step):
            chunk = data[start : start + step]
            out = chunk if item.type_id == tensor.type_id else _expand(chunk, tensor.type_id)
            file.write(out.data)
            done += out.nbytes
            if on_progress is not None:
                on_progress(done, total)
        file.write(bytes(align(item.nbytes, source.alignment) - item.nbytes))


def _header(source: GgufFile, planned: list[_Planned]) -> bytes:
    """Build everything before the data, padded to the alignment."""
    records = {key: data for key, data in source.metadata_bytes().items() if not key.startswith("split.")}
    if _FILE_TYPE in records:
        records[_FILE_TYPE] = _string(_FILE_TYPE) + U32.pack(UINT32) + U32.pack(_ALL_F32)
    parts = [MAGIC, U32.pack(_VERSION), U64.pack(len(planned)), U64.pack(len(records)), *records.values()]
    for item in planned:
        shape = item.tensor.shape
        parts += [
            _string(item.tensor.name),
            U32.pack(len(shape)),
            *(U64.pack(size) for size in reversed(shape)),
        ]
        parts += [U32.pack(item.type_id), U64.pack(item.offset)]
    header = b"".join(parts)
    return header.ljust(align(len(header), source.alignment), b"\0")


def _string(text: str) -> bytes:
    data = text.encode()
    return U64.pack(len(data)) + data
