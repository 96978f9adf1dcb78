"""A Hugging Face folder, config.json and safetensors files, read as if it were a GGUF file."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from converters.archs.checkpoint.model_types import Description, described
from converters.folder.source_file import OnBytes, SourceFile, ignored
from converters.sources.checkpoint.entries import Found, QuantizedEntry
from converters.sources.checkpoint.files import CONFIG, read_json, read_tensors, tensor_files
from converters.sources.checkpoint.names import gguf_names
from converters.sources.checkpoint.quantization import SIDE_FILES, gather_modules
from converters.sources.checkpoint.safetensors import Entry
from converters.sources.checkpoint.sampling import sampling_metadata
from converters.sources.checkpoint.stacks import Stack, parts_of, size_of, stacked, type_of
from converters.sources.source import Order
from converters.weights.rounding import Rounding
from repack.bits import read_floats
from repack.block_quantized import BlockMatrix
from repack.errors import MobiusError
from repack.registry import FLOAT_TYPES

if TYPE_CHECKING:
    from converters.tokenizer.export import TokenizerFiles


@dataclass(frozen=True)
class CheckpointTensor:
    """A tensor under GGUF's name; `held` is what the folder has of it."""

    name: str
    shape: tuple[int, ...]
    type_name: str
    nbytes: int
    held: Entry | QuantizedEntry


class CheckpointFolder:
    """One folder; make it with `open`. Weights are mapped, not read.

    Attributes:
        path: the folder.
        files: its files that the model consists of, safetensors first.
        size: bytes of these.
        metadata: its configuration, under GGUF's keys.
        tensors: by GGUF's names.
    """

    has_blocks = False
    token_count = None  # tokenizers of such folders may have fewer tokens than the embedding has rows
    half_split = True
    kind = "checkpoint"

    def __init__(
        self,
        path: Path,
        files: list[Path],
        metadata: Mapping[str, Any],
        found: Found,
        model: Description,
    ) -> None:
        self.path, self.files, self.metadata = path, files, metadata
        self.size = sum(file.stat().st_size for file in files)
        architecture = str(metadata["general.architecture"])
        names = gguf_names(found, architecture, metadata[f"{architecture}.block_count"])
        self.tensors = {stored: _tensor(stored, found[name]) for name, stored in names.items()}
        self._plus_one = model.plus_one
        for name, values in model.made.items():
            self.tensors[name] = _tensor(name, Entry("F32", values.shape, values.view(np.uint8)))
        self.rounded: Mapping[str, Mapping[str, Rounding]] = {}

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a folder.

        Raises:
            InputError: a file is missing or damaged.
            MobiusError: the model, its configuration or the form of its weights is not supported.
        """
        config, files = read_json(path / CONFIG), tensor_files(path)
        beside = {name: read_json(path / name) for name in SIDE_FILES}
        found = stacked(gather_modules(read_tensors(path, files), config, beside))
        model = described(config, found)
        metadata = {**model.metadata, "general.name": path.absolute().name, **sampling_metadata(path)}
        others = [path / name for name in (CONFIG, "tokenizer.json", "tokenizer_config.json")]
        return cls(path, [*files, *(other for other in others if other.exists())], metadata, found, model)

    def matrix(self, name: str, order: Order = None, expert: int | None = None) -> BlockMatrix | None:
        """A quantized tensor; None for floats."""
        held = self.tensors[name].held
        return None if isinstance(held, Entry) else held.matrix(order, expert)

    def floats(self, name: str, order: Order = None, expert: int | None = None) -> npt.NDArray[np.float32]:
        """The weights of a tensor in float32, or of one of its stack."""
        tensor = self.tensors[name]
        alone = expert is not None or not isinstance(tensor.held, Stack)
        packed = self.matrix(name, order, expert) if alone else None
        if packed is not None:
            return packed.dequantize()
        shape = tensor.shape if expert is None else tensor.shape[1:]
        if expert is None and isinstance(tensor.held, Stack):
            return np.stack([self.floats(name, order, number) for number in range(shape[0])])
        values = read_floats(self.raw(name, expert=expert), tensor.type_name)
        if self._plus_one and name.endswith("norm.weight"):
            values = values + np.float32(1)  # as GGUF files have them
        return (values if order is None else values.reshape(len(order), -1)[order]).reshape(shape)

    def raw(self, name: str, order: Order = None, expert: int | None = None) -> npt.NDArray[np.uint8]:
        """The bytes of a float tensor, or of one of its stack: uint8 [rows, bytes of a row]."""
        held = self.tensors[name].held
        if isinstance(held, Stack):
            assert expert is not None
            rows = held.raw(expert)
        else:
            assert isinstance(held, Entry), name
            data, shape = (held.data, held.shape) if expert is None else (parts_of(held)[expert], held.shape[1:])
            rows = data.reshape(math.prod(shape[:-1]), -1)
        return rows if order is None else rows[order]

    def tokenizer(self) -> "TokenizerFiles":
        """The folder's own."""
        from converters.sources.checkpoint.tokenizer import folder_tokenizer

        return folder_tokenizer(self.path)

    @property
    def provenance_bytes(self) -> int:
        """Of all files: each is read once more."""
        return self.size

    def provenance(self, on_bytes: OnBytes = ignored) -> list[SourceFile]:
        """Name, hash and size of each file."""
        return [SourceFile.of(file, on_bytes) for file in self.files]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to do: the last array to go releases the file."""


def _tensor(name: str, held: Entry | QuantizedEntry) -> CheckpointTensor:
    one, kind = held.members[0] if isinstance(held, Stack) else held, type_of(held)
    if isinstance(one, Entry) and (kind not in FLOAT_TYPES or not held.shape):
        raise MobiusError(f"{name} is stored as {kind}, without a method of quantization that says what that is",
                          f"supported as plain weights: {', '.join(FLOAT_TYPES)}")  # fmt: skip
    return CheckpointTensor(name, held.shape, kind, size_of(held), held)
