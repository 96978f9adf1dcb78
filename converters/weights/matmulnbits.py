"""A quantized matrix as graph values, in either storage, ready for MatMulNBits and GatherBlockQuantized."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.graph import Graph, Value
from converters.target import Target
from converters.weights.recorder import Recorder
from converters.weights.records import TensorRecord, store_as
from repack.bits import pair_pack
from repack.block_quantized import BlockQuantized, Layout
from repack.quant_type import QuantType


@dataclass(frozen=True)
class QuantizedMatrix:
    """`codes` uint8 [rows, blocks, bytes], `scale` and `offset` [rows, blocks].

    Either `codes` and `scale` are both initializers or both computed by nodes: ONNX Runtime's x64 kernel
    gives wrong results without an error when it packs constant codes beside scales that are not constant.
    """

    name: str
    layout: Layout
    codes: Value
    scale: Value
    offset: Value | None

    def flat_codes(self, graph: Graph) -> Value:
        """The codes as uint8 [rows, bytes of a row], for GatherBlockQuantized."""
        result: Value = graph.op("Reshape", self.codes, graph.ints(self.layout.rows, self.layout.code_bytes))
        return result


@dataclass(frozen=True)
class Part:
    """A tensor, or one of several whose rows stand below one another; `pack` reads it when the file is written."""

    record: TensorRecord
    layout: Layout
    pack: Callable[[], BlockQuantized]


def emit_quantized(graph: Graph, name: str, quant: QuantType, parts: Sequence[Part], target: Target) -> QuantizedMatrix:
    """Initializers (and, where they are stored otherwise, the nodes that unfold them) of one matrix.

    `name` is the tensor's, or one for all parts together; all parts are of type `quant`.
    """
    layout = replace(parts[0].layout, rows=sum(part.layout.rows for part in parts))
    before = set(graph.initializers)
    with graph.scope(name):
        emit = _emit_small if target.storage == "small" else _emit_fast
        made = emit(graph, name, layout, quant, parts, target)
    added = sum(v.nbytes for n, v in graph.initializers.items() if n not in before and n.startswith(name))
    first_row = 0
    for part in parts:
        part.record.stored_as, part.record.first_row = name, first_row
        first_row += part.layout.rows
        part.record.stored_bytes = added * part.layout.rows // layout.rows
        correction = " + offset" if layout.has_offset else ""
        part.record.format = f"{layout.bits} bit, block {layout.block_size}{correction}"
    return made


def joined(arrays: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Rows below one another, without a copy when there is one array."""
    found = list(arrays)
    return found[0] if len(found) == 1 else np.concatenate(found)


def scales(parts: Sequence[Part], dtype: str) -> npt.NDArray[Any]:
    """Scales [rows, blocks] of all parts in the target type; roundings are counted."""
    return joined(store_as(part.pack().scale(), dtype, part.record, "scale") for part in parts)


def offsets(parts: Sequence[Part], dtype: str) -> npt.NDArray[Any]:
    """Offsets [rows, blocks] of all parts in the target type; roundings are counted."""
    return joined(store_as(part.pack().offset(), dtype, part.record, "offset") for part in parts)


def _emit_fast(
    graph: Graph, name: str, layout: Layout, quant: QuantType, parts: Sequence[Part], target: Target
) -> QuantizedMatrix:
    """The operator's final inputs; only float16 scales of the file may wait for a Cast."""
    blocked = layout.block_shape
    shape = (blocked.rows, blocked.blocks)
    offset = None
    if quant.offset is not None:
        offset = graph.initializer(f"{name}.offset", target.dtype, shape, lambda: offsets(parts, target.dtype))
    # Stored as the file has them where widening them is exact.
    dtype = "float16" if quant.float16_scale is not None and target.dtype == "float32" else target.dtype
    codes = graph.initializer(
        f"{name}.codes",
        "uint8",
        (*shape, layout.code_bytes // blocked.blocks),
        lambda: joined(part.pack().codes() for part in parts),
    )
    scale = graph.initializer(f"{name}.scale", dtype, shape, lambda: scales(parts, dtype))
    if dtype != target.dtype:
        # The codes must be derived as the scale is. An Identity costs nothing: where a session folds the Cast,
        # it first drops the Identity.
        codes, scale = graph.op("Identity", codes), graph.cast(scale, target.dtype)
    return QuantizedMatrix(name, layout, codes, scale, offset)


class _StoredPlanes(Mapping[str, Value]):
    """Planes as initializers, made when a decoder asks for them."""

    def __init__(
        self, graph: Graph, name: str, layout: Layout, quant: QuantType, parts: Sequence[Part], dtype: str
    ) -> None:
        self._graph, self._name, self._layout = graph, name, layout
        self._quant, self._parts, self._dtype = quant, parts, dtype
        self._made: dict[str, Value] = {}

    def __getitem__(self, plane: str) -> Value:
        if plane not in self._made:
            self._made[plane] = self._store(plane)
        return self._made[plane]

    def _store(self, plane: str) -> Value:
        found = self._quant.planes[plane]
        shape = (self._layout.rows, self._layout.columns // self._quant.gguf_block[0], found.count)

        def compute() -> npt.NDArray[Any]:
            if plane == list(self._quant.planes)[-1]:
                # The session will round the scales; find out now, once per tensor, what that changes.
                scales(self._parts, self._dtype)
                if self._quant.offset is not None:
                    offsets(self._parts, self._dtype)
            values = joined(self._quant.extract(plane, part.pack().raw) for part in self._parts)
            return pair_pack(values) if found.dtype == "uint4" else values

        return self._graph.initializer(f"{self._name}.{plane}", found.dtype, shape, compute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._quant.planes)

    def __len__(self) -> int:
        return len(self._quant.planes)


def _emit_small(
    graph: Graph, name: str, layout: Layout, quant: QuantType, parts: Sequence[Part], target: Target
) -> QuantizedMatrix:
    """Planes as the GGUF holds them, and the nodes that unfold them when a session starts."""
    ops = Recorder(graph, target.dtype)
    planes = _StoredPlanes(graph, name, layout, quant, parts, target.dtype)
    codes = ops.codes(quant.codes(ops, planes, layout.block_shape))
    scale = ops.finish(quant.scale(ops, planes, layout.block_shape))
    offset = ops.finish(quant.offset(ops, planes, layout.block_shape)) if quant.offset is not None else None
    return QuantizedMatrix(name, layout, codes, scale, offset)
