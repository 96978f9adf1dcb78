"""Writes a checkpoint as a GGUF file, by the gguf package's writer: complete under its name, or not there at all."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from converters.folder.writer import check_space
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.to_gguf.tensors import OutTensor, pieces, plan_tensors
from converters.tokenizer.gguf_tokens import stand_in_vocabulary
from converters.tokenizer.gguf_vocabulary import tokenizer_metadata
from repack.bits import U8
from repack.errors import InputError, MobiusError

OnTensor = Callable[[str, int], None]  # name, bytes that were written


@dataclass(frozen=True)
class Written:
    """A finished file. `types`: tensors of each; `rounded`: relative error, root of mean square, by tensor."""

    path: Path
    bytes: int
    types: dict[str, int]
    rounded: dict[str, float] = field(default_factory=dict)
    has_tokenizer: bool = True
    warnings: tuple[str, ...] = ()


def write_gguf(
    source: CheckpointFolder,
    path: Path,
    wanted: str | None,
    on_tensor: OnTensor,
    *,
    force: bool = False,
    for_ids: bool = False,
) -> Written:
    """Write the file.

    Args:
        source: the checkpoint.
        path: the new file.
        wanted: what quantized tensors become that have no exact type; None: they are refused.
        on_tensor: told of each piece that was written.
        force: an existing file may be replaced.
        for_ids: who reads it gives ids only: the vocabulary may be any.

    Raises:
        InputError: the file exists, or there is no such folder.
        MobiusError: a tensor has no exact type, or the disk is full.
    """
    _check_place(path, force, source)
    tensors, plan = plan_tensors(source, wanted)
    vocabulary, warnings = stand_in_vocabulary(plan.spec.vocab), list[str]()
    if not for_ids:
        vocabulary, warnings = tokenizer_metadata(source.tokenizer(), plan.spec.vocab)
    check_space(path, sum(tensor.nbytes for tensor in tensors))
    part = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        _write(source, part, {**source.metadata, **vocabulary}, tensors, on_tensor)
        part.replace(path)
    except OSError as error:
        raise MobiusError(f"cannot write {path}: {error.strerror or error}", "choose another place") from error
    finally:
        part.unlink(missing_ok=True)
    rounded = {t.name: (t.squares[0] / t.squares[1]) ** 0.5 for t in tensors if t.squares[0]}
    types = dict(Counter(tensor.kind for tensor in tensors))
    return Written(path, path.stat().st_size, types, rounded, "tokenizer.ggml.tokens" in vocabulary, tuple(warnings))


def _check_place(path: Path, force: bool, source: CheckpointFolder) -> None:
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder, or in none", "give the name of a file")
    if path.exists() and any(path.samefile(file) for file in source.files):
        raise InputError(f"{path} is a file of the checkpoint", "choose another name")
    if path.exists() and not force:
        raise InputError(f"{path} exists", "pass --force to replace it, or choose another name")


def _write(
    source: CheckpointFolder, path: Path, metadata: dict[str, Any], tensors: list[OutTensor], on_tensor: OnTensor
) -> None:
    from gguf import GGMLQuantizationType, GGUFWriter

    writer: Any = GGUFWriter(path, metadata["general.architecture"])
    for key, value in metadata.items():
        if key != "general.architecture":
            _add(writer, key, value)
    writer.add_quantization_version(2)
    for tensor in tensors:
        shape = (*tensor.shape[:-1], tensor.row_bytes)
        number = GGMLQuantizationType[tensor.kind]
        writer.add_tensor_info(tensor.name, shape, np.dtype(np.uint8), tensor.nbytes, number)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for tensor in tensors:
            writer.write_tensor_data(_Streamed(tensor, pieces(source, tensor), on_tensor))
        for file in writer.fout or ():
            file.flush()
            os.fsync(file.fileno())
    finally:
        writer.close()


class _Streamed:
    """As much of an array as the writer uses; its bytes are made while they are written."""

    def __init__(self, tensor: OutTensor, made: Iterator[U8], on_tensor: OnTensor) -> None:
        self.nbytes, self._name, self._made, self._on_tensor = tensor.nbytes, tensor.name, made, on_tensor

    def tofile(self, file: BinaryIO) -> None:
        """Write all bytes."""
        written = 0
        for piece in self._made:
            file.write(np.ascontiguousarray(piece).data)
            written += piece.nbytes
            self._on_tensor(self._name, piece.nbytes)
        assert written == self.nbytes, self._name


def _add(writer: Any, key: str, value: Any) -> None:
    """In the types that llama.cpp reads: whole numbers of 32 bits, float32."""
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, list(value))
