"""A folder that `mobius convert` wrote, read in place of the GGUF that it was made from.

An exact folder has every number of the file that a graph needs, and `mobius.json` the rest. Its rows stand in the
graph's order already, and GGUF blocks are unpacked for good.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from converters.folder.manifest import Manifest, read_manifest
from converters.folder.source_file import OnBytes, SourceFile, ignored
from converters.sources.gguf.file import GgufFile
from converters.sources.onnx_folder.arrays import FolderArrays
from converters.sources.onnx_folder.planes import stored_planes
from converters.sources.onnx_folder.stacks import stored_matrix
from converters.sources.source import Order
from converters.weights.experts import expert_stem
from converters.weights.formats import FORMATS
from converters.weights.mixture import FORM
from converters.weights.rounding import Rounding
from repack.bits import read_floats
from repack.block_quantized import BlockMatrix, Layout, layout_of
from repack.errors import InputError, MobiusError
from repack.registry import FLOAT_TYPES, QUANT_TYPES

if TYPE_CHECKING:
    from converters.tokenizer.export import TokenizerFiles

_FLOATS = {"FLOAT": "F32", "FLOAT16": "F16", "BFLOAT16": "BF16"}  # ONNX's names to ggml's


@dataclass(frozen=True)
class FolderTensor:
    """A tensor of the file that the folder was made from."""

    name: str
    shape: tuple[int, ...]
    type_name: str
    nbytes: int


class OnnxFolder:
    """One model folder.

    Attributes:
        folder: the folder itself.
        path: the GGUF that it was converted from, which need not exist any more.
        size: that file's size, with all of its parts.
        metadata: what the folder keeps of the metadata: all but the tokenizer's.
        tensors: all tensors of the file, also those that the graph does not need.
        rounded: what was rounded when the folder was first written.
        arrays: of its graph.
    """

    has_blocks = False
    token_count = None  # the vocabulary was checked when the folder was written

    def __init__(self, folder: Path, manifest: Manifest, arrays: FolderArrays) -> None:
        self.folder = folder
        self.kind, _, made_from = arrays.properties["converted_from"].partition(" ")
        self.path, self.half_split = Path(made_from), self.kind != GgufFile.kind
        self.size = manifest.source_bytes
        self.metadata = manifest.metadata
        self.tensors = {r.name: FolderTensor(r.name, r.shape, r.source_type, r.source_bytes) for r in manifest.tensors}
        self.rounded: Mapping[str, Mapping[str, Rounding]] = {
            r.name: r.roundings for r in manifest.tensors if not r.exact
        }
        self._records = {record.name: record for record in manifest.tensors}
        self._manifest, self.arrays = manifest, arrays
        self._format = FORMATS[manifest.target.quant_format]

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a folder; its weights are mapped, not read.

        Raises:
            InputError: the folder is damaged, or not one of ours.
            MobiusError: it cannot be rewritten.
        """
        manifest = read_manifest(folder)
        _check_kind(folder, manifest)
        return cls.read(folder, manifest)

    @classmethod
    def read(cls, folder: Path, manifest: Manifest) -> Self:
        """Open a folder of any target; `dense` and `matrix` read all of them.

        Raises:
            InputError: the folder is damaged.
        """
        arrays = FolderArrays(folder / manifest.graph)
        if "converted_from" not in arrays.properties:
            raise InputError(f"{folder} does not say what it was made from", "convert the GGUF again")
        return cls(folder, manifest, arrays)

    def matrix(self, name: str, order: Order = None, expert: int | None = None) -> BlockMatrix | None:
        """A tensor that the folder holds quantized, or one of its stack; None for floats."""
        tensor = self.tensors[name]
        quant = QUANT_TYPES.get(tensor.type_name)
        if quant is None:
            return None
        shape = tensor.shape if expert is None else tensor.shape[1:]
        return self.stored(name, layout_of(quant, math.prod(shape[:-1]), shape[-1], where=name), expert)

    def stored(self, name: str, layout: Layout, expert: int | None = None) -> BlockMatrix:
        """A quantized tensor, or one of its stack, whose layout is known.

        Raises:
            MobiusError: the folder does not hold it.
        """
        record = self._records[name]
        if not record.stored_as:
            raise MobiusError(f"{self.folder} does not hold {name}", f"convert {self.path.name} itself")
        if self._manifest.target.storage == "small" and not record.format.startswith(FORM):
            return stored_planes(QUANT_TYPES[record.source_type], self.arrays, layout, record, expert)
        return stored_matrix(self._format, self.arrays, layout, record, expert)

    def floats(self, name: str, order: Order = None, expert: int | None = None) -> npt.NDArray[np.float32]:
        """The weights of any tensor, as they are in float32."""
        shape = self.tensors[name].shape if expert is None else self.tensors[name].shape[1:]
        if (values := self._records[name].values) is not None:
            return np.array(values, np.float32).reshape(shape)
        if (stored := expert_stem(name, expert)) in self.arrays:
            return read_floats(self._bytes(stored), _FLOATS[self.arrays.dtype(stored)]).reshape(shape)
        packed = self.matrix(name, expert=expert)
        if packed is None:
            raise MobiusError(f"{self.folder} does not hold {name}", f"convert {self.path.name} itself")
        return packed.dequantize().reshape(shape)

    def raw(self, name: str, order: Order = None, expert: int | None = None) -> npt.NDArray[np.uint8]:
        """The bytes of a float tensor as they stand in the file: uint8 [rows, bytes of a row]."""
        stored = expert_stem(name, expert)
        assert _FLOATS[self.arrays.dtype(stored)] == self.tensors[name].type_name, name
        return self._bytes(stored)

    def dense(self, name: str, expert: int | None = None) -> npt.NDArray[Any]:
        """Floats as the graph has them: [rows, columns] of a tensor, or of one of its stack; bfloat16 as uint16."""
        record, alone = self._records[name], expert_stem(name, expert)
        if expert is None or alone in self.arrays:
            stored = self.arrays.array(alone)
            return stored.reshape(-1, self.tensors[name].shape[-1])
        rows, columns = self.tensors[name].shape[1:]
        stored = self.arrays.array(name)
        if stored.shape == (rows, record.experts * columns):  # beside one another
            return stored[:, expert * columns : (expert + 1) * columns]
        one: npt.NDArray[Any] = stored.reshape(record.experts, rows, columns)[expert]
        return one

    def tokenizer(self) -> "TokenizerFiles":
        """The folder's own."""
        from converters.tokenizer.stored import stored_tokenizer

        return stored_tokenizer(self.folder, asdict(self._manifest.tokenizer))

    @property
    def files(self) -> list[Path]:
        """None: the folder remembers."""
        return []

    @property
    def provenance_bytes(self) -> int:
        """None: the folder remembers."""
        return 0

    def provenance(self, on_bytes: OnBytes = ignored) -> list[SourceFile]:
        """As the folder remembers them."""
        return list(self._manifest.source)

    def _bytes(self, name: str) -> npt.NDArray[np.uint8]:
        rows = math.prod(self.arrays.shape(name)[:-1])
        return self.arrays.array(name).reshape(rows, -1).view(np.uint8)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to do: the last array to go releases the file."""


def _check_kind(folder: Path, manifest: Manifest) -> None:
    """Refuse folders that do not hold the numbers of the file themselves."""
    target = manifest.target
    hint = f"convert {manifest.source[0].file} itself, or rewrite a folder made without"
    if target.dequantize:
        raise MobiusError(f"{folder} was written with --dequantize: how its weights were quantized is lost",
                          f"{hint} --dequantize")  # fmt: skip
    if target.storage != "fast":
        raise MobiusError(f"{folder} was written with --storage {target.storage}, which only a session unfolds",
                          f"{hint} --storage")  # fmt: skip
    if target.dtype != "float32":
        raise MobiusError(f"{folder} holds a {target.dtype} graph, and numbers of the file may be rounded in it",
                          f"{hint} --dtype, for cpu or any runtime")  # fmt: skip
    unknown = {r.source_type for r in manifest.tensors if r.stored_as} - {*QUANT_TYPES, *FLOAT_TYPES}
    if packed := sorted(name for name in unknown if name.startswith("INT")):
        raise MobiusError(f"{folder} was made from a quantized checkpoint ({packed[0]}): it cannot be rewritten yet",
                          "convert the checkpoint itself once more, with the options that you want")  # fmt: skip
    if unknown or target.quant_format not in FORMATS:
        raise MobiusError(f"{folder} holds types that this version does not know: {', '.join(sorted(unknown))}",
                          "use the version that wrote it")  # fmt: skip
