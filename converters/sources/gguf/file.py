"""A GGUF model, in one file or several: metadata, tensor directory and raw tensor bytes.

    with GgufFile.open("model.gguf") as model:
        model.metadata["general.architecture"]
        model.raw("token_embd.weight")  # uint8 [rows, bytes per row]

Opening reads the header only, whatever the size of the model.
"""

import math
import mmap
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from converters.sources.gguf.cursor import shown
from converters.sources.gguf.header import GgufHeader, TensorInfo, read_header
from converters.sources.gguf.metadata import GgufMetadata
from converters.sources.gguf.open import map_file
from converters.sources.gguf.splits import merge_shards, shard_paths
from converters.sources.gguf.types import unreadable_type
from repack.errors import MobiusError

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

    def raw(self, name: str) -> npt.NDArray[np.uint8]:
        """Return the bytes of a tensor as they stand in the file: uint8 [rows, bytes per row], read-only.

        Rows are the product of all dimensions but the last. The array is a view of the file: nothing is read
        before it is used. Raises MobiusError for a type whose layout is not known, KeyError when there is no
        such tensor.
        """
        tensor = self.tensors[name]
        if tensor.nbytes is None:
            reason, hint = unreadable_type(tensor.type_id)
            raise MobiusError(f"{self.shards[tensor.shard]}: tensor {shown(name)} has {reason}", hint)
        rows = math.prod(tensor.shape[:-1])
        data = np.frombuffer(self._maps[tensor.shard], np.uint8, tensor.nbytes, tensor.offset)
        return data.reshape(rows, tensor.nbytes // rows)

    def metadata_bytes(self) -> dict[str, bytes]:
        """Return each metadata record as it stands in the first file (key, value type, value), by key."""
        return {key: self.metadata.record_bytes(key) for key in self.metadata}

    def close(self) -> None:
        """Give the files back. Metadata and tensors not read so far cannot be read any more."""
        _close(self._maps)

    def __enter__(self) -> "GgufFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _close(maps: list[mmap.mmap]) -> None:
    for mapped in maps:
        try:
            mapped.close()
        except BufferError:  # arrays from `raw` are still in use: the last of them releases the file
            continue
