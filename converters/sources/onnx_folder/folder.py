"""A folder that `mobius convert` wrote, read in place of the GGUF that it was made from.

An exact folder has every number of the file that a graph needs, and `mobius.json` the rest. Its rows stand in the
graph's order already, and GGUF blocks are unpacked for good: `packed` and `floats` give what is left to ask for.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.folder.metadata import restored_metadata
from converters.folder.writer import MANIFEST, read_manifest
from converters.sources.gguf.header import TensorInfo
from converters.sources.onnx_folder.arrays import FolderArrays
from converters.sources.onnx_folder.matrix import FolderMatrix
from converters.target import Target
from repack.bits import read_floats
from repack.block_quantized import layout_of
from repack.errors import InputError, MobiusError
from repack.registry import FLOAT_TYPES, QUANT_TYPES

_FLOATS = {"FLOAT": "F32", "FLOAT16": "F16", "BFLOAT16": "BF16"}  # ONNX's names to ggml's


class ModelFolder:
    """One model folder.

    Attributes:
        folder: the folder itself.
        path: the GGUF that it was converted from, which need not exist any more.
        size: that file's size, with all of its parts.
        origins: name, hash and size of each part, as in the manifest.
        metadata: what the folder keeps of the metadata: all but the tokenizer's.
        tensors: all tensors of the file, also those that the graph does not need.
        token_ids: what the manifest says of the tokenizer.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], arrays: FolderArrays) -> None:
        self.folder = folder
        self.origins: list[dict[str, Any]] = manifest["source"]
        self.path = Path(arrays.properties["converted_from"].removeprefix("GGUF "))
        self.size = sum(int(part["bytes"]) for part in self.origins)
        self.metadata = restored_metadata(manifest["metadata"])
        self.token_ids: dict[str, Any] = manifest["tokenizer"]
        self.records: dict[str, dict[str, Any]] = {record["name"]: record for record in manifest["tensors"]}
        self.tensors = {name: _info(record) for name, record in self.records.items()}
        self._standard = manifest["target"]["quant_format"] == "qdq"
        self._arrays = arrays

    @classmethod
    def open(cls, folder: Path) -> "ModelFolder":
        """Open a folder; its weights are mapped, not read.

        Raises:
            InputError: the folder is damaged, or not one of ours.
            MobiusError: it cannot be rewritten.
        """
        manifest = read_manifest(folder)
        try:
            if "metadata" not in manifest:
                raise MobiusError(f"{folder} is of an older version, which did not keep what a rewrite needs",
                                  "convert the GGUF again")  # fmt: skip
            _check_kind(folder, manifest)
            return cls(folder, manifest, FolderArrays(folder))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{folder / MANIFEST} cannot be read: {error!r}", "convert the GGUF again") from error

    def check_target(self, target: Target) -> None:
        """Refuse what would need the file's own blocks, or would round a second time.

        Raises:
            MobiusError: the target would not be as from the file.
        """
        if target.storage != "fast":
            raise MobiusError(f"--storage {target.storage} needs the blocks of the GGUF, which {self.folder} has not",
                              f"convert {self.path.name} itself")  # fmt: skip
        rounded = [name for name, record in self.records.items() if not record["exact"]]
        if rounded and (target.dtype != "float32" or target.dequantize):
            raise MobiusError(
                f"{self.folder} holds rounded numbers, such as of {rounded[0]}: they must not be rounded again",
                f"convert {self.path.name} itself, or rewrite to a quantized float32 model",
            )

    def raw(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a float tensor as they stand in the file: uint8 [rows, bytes per row]."""
        assert _FLOATS[self._arrays.dtype(name)] == self.tensors[name].type_name, name
        return self._bytes(name)

    def packed(self, name: str) -> FolderMatrix:
        """A tensor that the folder holds quantized."""
        info, record = self.tensors[name], self.records[name]
        stem = record["stored_as"]
        if not stem:
            raise MobiusError(f"{self.folder} does not hold {name}", f"convert {self.path.name} itself")
        quant = QUANT_TYPES[info.type_name]
        layout = layout_of(quant, math.prod(info.shape[:-1]), info.shape[-1], where=name)
        codes, scale = f"{stem}.codes", f"{stem}.scale"
        # No matrix has as many rows as blocks and as columns: one of the two shapes tells.
        upright = (
            self._arrays.shape(scale)[1] == layout.block_shape.blocks and self._arrays.shape(codes)[1] == layout.columns
        )
        return FolderMatrix(
            quant=quant,
            layout=layout,
            raw=np.empty((0, 0), np.uint8),
            first_row=record["first_row"],
            standard=self._standard,
            rows_first=upright or not self._standard,
            stored_codes=self._arrays.array(codes),
            stored_scale=self._arrays.array(scale),
            stored_offset=self._arrays.array(f"{stem}.offset") if quant.offset is not None else None,
        )

    def floats(self, name: str) -> npt.NDArray[np.float32]:
        """The weights of any tensor, as they are in float32."""
        shape = self.tensors[name].shape
        if (values := self.records[name].get("values")) is not None:
            return np.array(values, np.float32).reshape(shape)
        if name in self._arrays:
            return read_floats(self._bytes(name), _FLOATS[self._arrays.dtype(name)]).reshape(shape)
        return self.packed(name).dequantize().reshape(shape)

    def _bytes(self, name: str) -> npt.NDArray[np.uint8]:
        rows = math.prod(self.tensors[name].shape[:-1])
        return self._arrays.array(name).reshape(rows, -1).view(np.uint8)

    def close(self) -> None:
        """Nothing: the last array to go releases the file."""

    def __enter__(self) -> "ModelFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _info(record: dict[str, Any]) -> TensorInfo:
    shape = tuple(int(n) for n in record["shape"])
    return TensorInfo(record["name"], shape, -1, record["source_type"], record["source_bytes"], shard=0, offset=0)


def _check_kind(folder: Path, manifest: dict[str, Any]) -> None:
    """Refuse folders that do not hold the numbers of the file themselves."""
    target = manifest["target"]
    hint = f"convert {manifest['source'][0]['file']} itself, or rewrite a folder made without"
    if target["dequantize"]:
        raise MobiusError(f"{folder} was written with --dequantize: how its weights were quantized is lost",
                          f"{hint} --dequantize")  # fmt: skip
    if target["storage"] != "fast":
        raise MobiusError(f"{folder} was written with --storage {target['storage']}, which only a session unfolds",
                          f"{hint} --storage")  # fmt: skip
    if target["dtype"] != "float32":
        raise MobiusError(f"{folder} holds a {target['dtype']} graph, and numbers of the file may be rounded in it",
                          f"{hint} --dtype, for cpu or any runtime")  # fmt: skip
    unknown = {r["source_type"] for r in manifest["tensors"] if r["stored_as"]} - {*QUANT_TYPES, *FLOAT_TYPES}
    if unknown:
        raise MobiusError(f"{folder} holds types that this version does not know: {', '.join(sorted(unknown))}",
                          "use the version that wrote it")  # fmt: skip
