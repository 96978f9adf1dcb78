"""The source's tensors as graph values, each used once or named as left over."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.graph import Graph, Value
from converters.sources.gguf.file import TensorInfo
from converters.sources.onnx_folder.folder import ModelFolder
from converters.sources.source import Source
from converters.target import Target
from converters.weights.matmulnbits import Part, QuantizedMatrix, emit_quantized
from converters.weights.qdq import QdqMatrix, emit_qdq
from converters.weights.records import TensorRecord, store_as
from repack.bits import read_floats
from repack.block_quantized import BlockQuantized, layout_of
from repack.errors import MobiusError
from repack.quant_type import QuantType
from repack.registry import FLOAT_TYPES, QUANT_TYPES

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class DenseMatrix:
    """A float matrix [rows, columns] in the activation type."""

    value: Value
    rows: int
    columns: int


Matrix = DenseMatrix | QuantizedMatrix | QdqMatrix


class Weights:
    """Hands out graph values for tensors; knows which tensors nobody asked for."""

    def __init__(self, source: Source, graph: Graph, target: Target, ignored: Sequence[str] = ()) -> None:
        self.source, self.graph, self.target = source, graph, target
        self.records: dict[str, TensorRecord] = {}
        self._matrices: dict[str, Matrix] = {}
        self._stacked: dict[str, QuantizedMatrix] = {}
        self._vectors: dict[tuple[str, str], Value] = {}
        self.ignored = [name for name in source.tensors if any(fnmatchcase(name, pattern) for pattern in ignored)]
        for name in self.ignored:
            self.set_aside_one(name)

    def __contains__(self, name: str) -> bool:
        return name in self.source.tensors and name not in self.ignored

    def matrix(self, name: str, shape: tuple[int, int], order: Rows | None = None, looked_up: bool = False) -> Matrix:
        """A 2-D tensor, quantized or dense as the target wants; `order` picks its rows in a new order.

        `looked_up`: its rows are only gathered, never multiplied.

        Raises:
            MobiusError: the tensor is missing, has another shape, or a type that cannot be kept.
        """
        if name in self._matrices:
            return self._matrices[name]
        quant = self.kept(name)
        if quant is not None:
            parts = [self._part(name, shape, order)]
            if self.target.quant_format == "qdq":
                made: Matrix = emit_qdq(self.graph, name, quant, parts, self.target, rows_first=looked_up)
            else:
                made = emit_quantized(self.graph, name, quant, parts, self.target)
        else:
            made = DenseMatrix(self._dense(self._take(name, shape), order), *shape)
        self._matrices[name] = made
        return made

    def kept(self, name: str) -> QuantType | None:
        """The quantized type in which a tensor will be kept; None for floats and with --dequantize."""
        info = self.source.tensors.get(name)
        return QUANT_TYPES.get(info.type_name) if info is not None and not self.target.dequantize else None

    def stacked(self, name: str, tensors: Sequence[tuple[str, int, Rows | None]], columns: int) -> QuantizedMatrix:
        """Several tensors (name, rows, order) of one kept type as one matrix, rows below one another."""
        if name in self._stacked:
            return self._stacked[name]
        kinds = [self.kept(tensor) for tensor, _, _ in tensors]
        assert kinds[0] is not None and all(kind is kinds[0] for kind in kinds)
        parts = [self._part(tensor, (rows, columns), order) for tensor, rows, order in tensors]
        self._stacked[name] = emit_quantized(self.graph, name, kinds[0], parts, self.target)
        return self._stacked[name]

    def _part(self, name: str, shape: tuple[int, int], order: Rows | None) -> Part:
        info = self._take(name, shape)
        quant = QUANT_TYPES[info.type_name]
        layout = layout_of(quant, *shape, where=name)
        if isinstance(source := self.source, ModelFolder):
            return Part(self.records[name], layout, lambda: source.packed(name))
        return Part(self.records[name], layout, lambda: BlockQuantized(quant, layout, self._rows(name, order)))

    def vector(self, name: str, shape: tuple[int, ...], order: Rows | None = None, dtype: str | None = None) -> Value:
        """A small tensor, in the activation type unless `dtype` says otherwise; `order` picks its elements."""
        stored = dtype or self.target.dtype
        if (name, stored) not in self._vectors:
            self._vectors[name, stored] = self._vector(name, shape, order, stored)
        return self._vectors[name, stored]

    def _vector(self, name: str, shape: tuple[int, ...], order: Rows | None, stored: str) -> Value:
        info = self._take(name, shape)
        record = self.records[name]
        record.format = f"dense {stored}"
        kept = None if isinstance(self.source, ModelFolder) else order  # a folder has it done

        def compute() -> npt.NDArray[Any]:
            values = self._floats(info, None).reshape(-1)
            return store_as((values if kept is None else values[kept]).reshape(shape), stored, record, "weight")

        value = self.graph.initializer(name, stored, shape, compute)
        record.stored_bytes = value.nbytes
        return value

    def array(self, name: str, length: int) -> npt.NDArray[np.float32]:
        """The numbers of a small 1-D tensor that shapes the graph itself."""
        info = self._take(name, (length,))
        self.records[name].format = "folded into a table"
        return self._noted(info)

    def _noted(self, info: TensorInfo) -> npt.NDArray[np.float32]:
        """Numbers that the graph does not hold as they are: the record keeps them."""
        values = self._floats(info, None)
        self.records[info.name].values = values.reshape(-1).tolist()
        return values

    def set_aside(self, suffix: str) -> int:
        """Name tensors `X.suffix` beside a weight `X.weight` as deliberately unused; returns how many."""
        count = 0
        for name in self.source.tensors:
            stem = name.removesuffix(suffix)
            if name not in self.records and stem != name and f"{stem}weight" in self.records:
                self.set_aside_one(name)
                count += 1
        return count

    def set_aside_one(self, name: str, reason: str = "unused, as in llama.cpp", noted: bool = False) -> None:
        """Name a tensor as deliberately unused; `noted`: its numbers are recorded for other targets."""
        info = self.source.tensors[name]
        self.records[name] = TensorRecord(name, info.type_name, info.shape, info.nbytes or 0, reason)
        if noted:
            self._noted(info)

    def unused(self) -> list[str]:
        """Tensors that nothing asked for."""
        return [name for name in self.source.tensors if name not in self.records]

    def _take(self, name: str, shape: tuple[int, ...]) -> TensorInfo:
        info = self.source.tensors.get(name)
        if info is None:
            raise MobiusError(f"tensor {name} is missing from {self.source.path.name}",
                              "the file is incomplete or of a variant that is not supported")  # fmt: skip
        if info.type_name not in QUANT_TYPES and info.type_name not in FLOAT_TYPES:
            known = ", ".join([*FLOAT_TYPES, *QUANT_TYPES])
            raise MobiusError(f"{name} is of type {info.type_name}, which is not supported", f"supported: {known}")
        stored = info.shape if info.shape != (1, *shape) else shape
        if stored != shape:
            raise MobiusError(
                f"{name} has shape {list(info.shape)}, but the metadata asks for {list(shape)}",
                "the metadata and the tensors contradict each other; the file is not convertible as it is",
            )
        self.records[name] = TensorRecord(name, info.type_name, info.shape, info.nbytes or 0)
        return info

    def _rows(self, name: str, order: Rows | None) -> npt.NDArray[np.uint8]:
        raw = self.source.raw(name)
        return raw if order is None or isinstance(self.source, ModelFolder) else raw[order]

    def _floats(self, info: TensorInfo, order: Rows | None) -> npt.NDArray[np.float32]:
        """Float32 values of any supported type, exact; rows in order."""
        if isinstance(self.source, ModelFolder):
            return self.source.floats(info.name)
        raw = self.source.raw(info.name)
        quant = QUANT_TYPES.get(info.type_name)
        if order is not None:
            raw = raw[order]
        if quant is not None:
            layout = layout_of(quant, len(raw), info.shape[-1], info.name)
            return BlockQuantized(quant, layout, raw).dequantize().reshape(info.shape)
        return read_floats(raw, info.type_name).reshape(info.shape)

    def _dense(self, info: TensorInfo, order: Rows | None) -> Value:
        """A float matrix; 16-bit floats stay as stored and are widened when the session starts."""
        record, wanted = self.records[info.name], self.target.dtype
        stored = FLOAT_TYPES.get(info.type_name, "")
        if stored == wanted or (stored in ("float16", "bfloat16") and wanted == "float32"):
            raw_type = {"float32": np.float32, "float16": np.float16, "bfloat16": np.uint16}[stored]
            value = self.graph.initializer(
                info.name, stored, info.shape,
                lambda: self._rows(info.name, order).view(np.dtype(raw_type).newbyteorder("<")),
            )  # fmt: skip
        else:
            stored = wanted
            value = self.graph.initializer(
                info.name, wanted, info.shape,
                lambda: store_as(self._floats(info, order), wanted, record, "weight"),
            )  # fmt: skip
        record.format = f"dense {stored}"
        record.stored_bytes = value.nbytes
        return value if stored == wanted else self.graph.cast(value, wanted, name=info.name)
