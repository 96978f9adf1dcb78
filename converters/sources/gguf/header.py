"""Header of one GGUF file: version, metadata and tensor directory, all checked against the file size.

The layout is that of the GGUF specification (docs/gguf.md of ggml), the rules are those of llama.cpp's
reader (gguf.cpp): magic, uint32 version, uint64 tensor count, uint64 key count, the keys, the tensor
directory, then the data, which starts at a multiple of `general.alignment`. A directory entry is name, uint32
number of dimensions, uint64 dimensions (innermost first), uint32 type and uint64 offset from the start of the
data.
"""

import math
import mmap
import struct
from dataclasses import dataclass
from itertools import pairwise

from converters.sources.gguf.cursor import Cursor, shown
from converters.sources.gguf.metadata import UINT32, GgufMetadata, Record, read_record
from converters.sources.gguf.types import TENSOR_TYPES, type_name
from repack.errors import InputError

MAX_DIMS = 4
DEFAULT_ALIGNMENT = 32
MAX_ALIGNMENT = 1 << 20  # beyond any page size: a larger value is damage, not intent
# Counts that fit the file size may still cost minutes. Real files: some 100 keys, at most some 10000 tensors.
MAX_KEYS = 1 << 16
MAX_TENSORS = 1 << 18
MIN_KEY_BYTES = 8 + 1 + 4 + 1  # length, name, value type, value
MIN_TENSOR_BYTES = 8 + 1 + 4 + 8 + 4 + 8  # length, name, number of dimensions, one dimension, type, offset


@dataclass(frozen=True)
class TensorInfo:
    """One tensor of a GGUF model.

    `shape` is in NumPy order, outermost first ([rows, columns] for a matrix). `type_name` is ggml's name
    ("Q4_K"), or "type 156" for a number that ggml does not have. `nbytes` is None when the block size of the
    type is not known. `offset` is absolute, in bytes, in file number `shard` (0 for the first).
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    type_name: str
    nbytes: int | None
    shard: int
    offset: int


@dataclass(frozen=True)
class GgufHeader:
    """What stands before the tensor data of one file; `alignment` and `size` (of the file) are in bytes."""

    path: str
    version: int
    alignment: int
    size: int
    metadata: GgufMetadata
    tensors: dict[str, TensorInfo]


def read_header(buffer: mmap.mmap, path: str, shard: int = 0) -> GgufHeader:
    """Read the header of a mapped file that starts with the magic `GGUF`.

    `path` is used in messages, `shard` is the number written into each TensorInfo. Raises InputError for
    every file that breaks the format, is cut short, is big endian, or has a version other than 2 and 3.
    """
    cursor = Cursor(buffer, path)
    cursor.skip(4, "magic")
    version = _read_version(cursor)
    tensor_count = _read_count(cursor, "tensors", MIN_TENSOR_BYTES, MAX_TENSORS)
    key_count = _read_count(cursor, "metadata keys", MIN_KEY_BYTES, MAX_KEYS)
    records: dict[str, Record] = {}
    for _ in range(key_count):
        start = cursor.position
        key, record = read_record(cursor)
        if key in records:
            raise cursor.damaged(f"key {shown(key)} appears twice, at offsets {records[key].start} and {start}")
        records[key] = record
    metadata = GgufMetadata(buffer, records)
    alignment = _alignment(cursor, metadata)
    entries = [_read_entry(cursor) for _ in range(tensor_count)]
    data_start = align(cursor.position, alignment)
    tensors: dict[str, TensorInfo] = {}
    for name, shape, type_id, offset in entries:
        if name in tensors:
            raise cursor.damaged(f"tensor {shown(name)} appears twice")
        if offset % alignment:
            raise cursor.damaged(f"tensor {shown(name)}: offset {offset} is no multiple of {alignment}")
        nbytes = _tensor_bytes(cursor, name, shape, type_id)
        tensors[name] = TensorInfo(name, shape, type_id, type_name(type_id), nbytes, shard, data_start + offset)
    _check_layout(cursor, list(tensors.values()), alignment)
    return GgufHeader(path, version, alignment, cursor.size, metadata, tensors)


def align(offset: int, alignment: int) -> int:
    """Round `offset` up to a multiple of `alignment` (both in bytes)."""
    return -(-offset // alignment) * alignment


def _read_version(cursor: Cursor) -> int:
    version = cursor.u32("version")
    if version in (2, 3):
        return version
    if version and version & 0xFFFF == 0:  # a small number with its bytes reversed
        swapped = int.from_bytes(version.to_bytes(4, "big"), "little")
        raise InputError(
            f"{cursor.path}: big-endian GGUF file (version {swapped})",
            "Only little-endian files are read: download the usual little-endian file of this model.",
        )
    if version == 1:
        hint = "Version 1 dates from August 2023: download a newer file of this model."
    else:
        hint = "Update this program if a newer GGUF version exists; otherwise the file is damaged."
    raise InputError(f"{cursor.path}: GGUF version {version} is not supported (2 and 3 are)", hint)


def _read_count(cursor: Cursor, what: str, min_bytes: int, limit: int) -> int:
    count = cursor.u64(f"number of {what}")
    if count > limit:
        raise cursor.damaged(f"header claims {count} {what} (at most {limit} are read)")
    cursor.need(count * min_bytes, f"list of {count} {what}")
    return count


def _alignment(cursor: Cursor, metadata: GgufMetadata) -> int:
    key = "general.alignment"
    if key not in metadata:
        return DEFAULT_ALIGNMENT
    if metadata.value_type(key) != UINT32:
        raise cursor.damaged(f"key '{key}' has value type {metadata.value_type(key)}, not {UINT32} (uint32)")
    alignment = int(metadata[key])
    if not 1 <= alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
        raise cursor.damaged(f"key '{key}' is {alignment}, not a power of two up to {MAX_ALIGNMENT}")
    return alignment


def _read_entry(cursor: Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """Read one directory entry: name, shape (outermost first), type, offset from the start of the data."""
    start = cursor.position
    name = cursor.name("tensor name")
    n_dims = cursor.u32(f"number of dimensions of tensor {shown(name)}")
    if not 1 <= n_dims <= MAX_DIMS:
        raise cursor.damaged(f"tensor {shown(name)} at offset {start} has {n_dims} dimensions (1 to 4 allowed)")
    fields = struct.Struct(f"<{n_dims}QIQ")
    cursor.skip(fields.size, f"entry of tensor {shown(name)}")
    *dims, type_id, offset = fields.unpack_from(cursor.buffer, cursor.position - fields.size)
    shape = tuple(reversed(dims))
    # llama.cpp counts elements in int64; Python integers do not overflow, so the product can be compared.
    if 0 in shape or math.prod(shape) >= 1 << 63:
        raise cursor.damaged(
            f"tensor {shown(name)} at offset {start} has the impossible shape {list(shape)} "
            "(each dimension is at least 1, the product below 2^63)"
        )
    return name, shape, type_id, offset


def _tensor_bytes(cursor: Cursor, name: str, shape: tuple[int, ...], type_id: int) -> int | None:
    kind = TENSOR_TYPES.get(type_id)
    if kind is None:
        return None
    if shape[-1] % kind.block_size:
        raise InputError(
            f"{cursor.path}: tensor {shown(name)} has rows of {shape[-1]} weights, "
            f"but {kind.name} stores blocks of {kind.block_size}",
            "llama.cpp refuses this file too: use one quantized to a type whose block size divides the rows.",
        )
    return math.prod(shape) // kind.block_size * kind.block_bytes


def _end(tensor: TensorInfo) -> int:
    return tensor.offset + (1 if tensor.nbytes is None else tensor.nbytes)


def _described(tensor: TensorInfo) -> str:
    return f"{shown(tensor.name)} ({tensor.type_name} {list(tensor.shape)})"


def _check_layout(cursor: Cursor, tensors: list[TensorInfo], alignment: int) -> None:
    """Check that all tensors lie inside the file and apart, as far as their sizes are known."""
    if not tensors:
        return
    last = max(tensors, key=_end)
    if _end(last) > cursor.size:
        raise cursor.cut_short(
            f"file is cut short: {cursor.size} bytes, expected at least {_end(last)}, "
            f"where tensor {_described(last)} ends"
        )
    ordered = sorted(tensors, key=lambda tensor: tensor.offset)
    for tensor, following in pairwise(ordered):
        if following.offset < _end(tensor):
            raise cursor.damaged(
                f"tensor {_described(tensor)} at offset {tensor.offset} overlaps "
                f"{_described(following)} at offset {following.offset}"
            )
        # Forks reuse type numbers for blocks of another size. llama.cpp allows no gap between tensors, so a
        # gap behind a tensor of blocks means that the writer's block size is not the one known here.
        quantized = tensor.nbytes is not None and TENSOR_TYPES[tensor.type_id].block_size > 1
        if quantized and following.offset != align(_end(tensor), alignment):
            raise InputError(
                f"{cursor.path}: tensor {_described(tensor)} takes {tensor.nbytes} bytes in ggml's layout, "
                f"but {following.offset - tensor.offset} bytes lie between it and {shown(following.name)}",
                "The file uses another layout under this type number: use a file made by llama.cpp.",
            )
