"""A GGUF model, in one file or several: metadata, tensor directory and raw tensor bytes.

    with GgufFile.open("model.gguf") as model:
        model.metadata["general.architecture"]
        model.raw("token_embd.weight")  # uint8 [rows, bytes per row]

Opening reads the header only, whatever the size of the model.
"""

import math
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from converters.folder.source_file import OnBytes, SourceFile, ignored
from converters.sources.gguf.cursor import shown
from converters.sources.gguf.header import GgufHeader, TensorInfo, read_header
from converters.sources.gguf.metadata import GgufMetadata
from converters.sources.gguf.open import map_file
from converters.sources.gguf.splits import merge_shards, shard_paths
from converters.sources.gguf.types import unreadable_type
from converters.sources.source import Order
from converters.weights.rounding import Rounding
from repack.bits import read_floats
from repack.block_quantized import BlockQuantized, layout_of
from repack.errors import MobiusError
from repack.registry import QUANT_TYPES

if TYPE_CHECKING:
    from converters.tokenizer.export import TokenizerFiles

__all__ = ["GgufFile", "TensorInfo"]


class GgufFile:
    """One logical model; make it with `open`, and close it or use it as a context manager.

    Attributes:
        path: the path given.
        shards: all files of the model in order; one for a model that is not split.
        version: GGUF version of the first file, 2 or 3.
        size: size of all files together, in bytes.
        metadata: metadata of the first file, decoded when asked for (see GgufMetadata).
        tensors: all tensors by name, in file order.
    """

    has_blocks = True
    half_split = False
    kind = "GGUF"

    def __init__(
        self,
        path: Path,
        shards: tuple[Path, ...],
        maps: list[mmap.mmap],
        headers: list[GgufHeader],
        tensors: dict[str, TensorInfo],
    ) -> None:
        self.path = path
        self.shards = shards
        self.version = headers[0].version
        self.size = sum(header.size for header in headers)
        self.alignment = headers[0].alignment
        self.metadata: GgufMetadata = headers[0].metadata
        self.tensors = tensors
        self._maps = maps

    @classmethod
    def open(cls, path: str | Path) -> "GgufFile":
        """Open a GGUF file, or all files of a split model given any one of them.

        Tensors of unknown types are listed; only `raw` refuses them. Raises InputError when a file is
        missing, is not GGUF, has a version other than 2 and 3, is cut short or breaks the format, or when the
        files of a split model do not belong together.
        """
        path = Path(path)
        maps: list[mmap.mmap] = []
        try:
            maps.append(map_file(path))
            header = read_header(maps[0], str(path))
            shards = shard_paths(path, header)
            headers = [header]
            if len(shards) > 1:
                _close(maps)
                maps = []
                headers = []
                for index, shard in enumerate(shards):
                    maps.append(map_file(shard))
                    headers.append(read_header(maps[-1], str(shard), index))
            return cls(path, shards, maps, headers, merge_shards(headers))
        except BaseException:
            _close(maps)
            raise

    @property
    def token_count(self) -> int | None:
        """Tokens of the vocabulary, if there is one."""
        key = "tokenizer.ggml.tokens"
        return self.metadata.array_length(key) if key in self.metadata else None

    @property
    def rounded(self) -> Mapping[str, Mapping[str, Rounding]]:
        """Nothing: a file's numbers are the model's."""
        return {}

    def matrix(self, name: str, order: Order = None, expert: int | None = None) -> BlockQuantized | None:
        """A quantized tensor, or one of its stack, with its rows in order; None for floats and unknown types."""
        tensor = self.tensors[name]
        quant = QUANT_TYPES.get(tensor.type_name)
        if quant is None:
            return None
        shape = tensor.shape if expert is None else tensor.shape[1:]
        layout = layout_of(quant, math.prod(shape[:-1]), shape[-1], where=name)
        return BlockQuantized(quant, layout, self.raw(name, expert=expert), order)

    def floats(self, name: str, order: Order = None, expert: int | None = None) -> npt.NDArray[np.float32]:
        """The values of a tensor of any supported type in its own shape, exact; rows or elements in order."""
        tensor, packed = self.tensors[name], self.matrix(name, expert=expert)
        values = read_floats(self.raw(name, expert=expert), tensor.type_name) if packed is None else packed.dequantize()
        shape = tensor.shape if expert is None else tensor.shape[1:]
        return (values if order is None else values.reshape(len(order), -1)[order]).reshape(shape)

    def tokenizer(self) -> "TokenizerFiles":
        """The tokenizer's files, made from the metadata."""
        from converters.tokenizer.export import export_tokenizer

        return export_tokenizer(self.metadata)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, in all its parts."""
        return self.shards

    @property
    def provenance_bytes(self) -> int:
        """Of all files: each is read once more."""
        return self.size

    def provenance(self, on_bytes: OnBytes = ignored) -> list[SourceFile]:
        """Name, hash and size of each file; reads them all."""
        return [SourceFile.of(path, on_bytes) for path in self.shards]

    def raw(self, name: str, order: Order = None, expert: int | None = None) -> npt.NDArray[np.uint8]:
        """Return the bytes of a tensor as they stand in the file: uint8 [rows, bytes per row], read-only.

        Rows are the product of all dimensions but the last, or those of one matrix of a stack; with `order`, a copy
        with other rows. The array is a view of the file: nothing is read before it is used. Raises MobiusError for a
        type whose layout is not known, KeyError when there is no such tensor.
        """
        tensor = self.tensors[name]
        if tensor.nbytes is None:
            reason, hint = unreadable_type(tensor.type_id)
            raise MobiusError(f"{self.shards[tensor.shard]}: tensor {shown(name)} has {reason}", hint)
        rows = math.prod(tensor.shape[:-1])
        data = np.frombuffer(self._maps[tensor.shard], np.uint8, tensor.nbytes, tensor.offset)
        data = data.reshape(rows, tensor.nbytes // rows)
        if expert is not None:
            data = data.reshape(tensor.shape[0], -1, data.shape[1])[expert]
        return data if order is None else data[order]

    def metadata_bytes(self) -> dict[str, bytes]:
        """Return each metadata record as it stands in the first file (key, value type, value), by key."""
        return {key: self.metadata.record_bytes(key) for key in self.metadata}

    def close(self) -> None:
        """Give the files back. Metadata and tensors not read so far cannot be read any more."""
        _close(self._maps)

    def __enter__(self) -> "GgufFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _close(maps: list[mmap.mmap]) -> None:
    for mapped in maps:
        try:
            mapped.close()
        except BufferError:  # arrays from `raw` are still in use: the last of them releases the file
            continue
