"""A quantized matrix as graph values, in either storage, ready for MatMulNBits and GatherBlockQuantized."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from converters.graph import Graph, Value
from converters.recorder import Recorder
from converters.report import TensorRecord, store_as
from converters.target import Target
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


Pack = Callable[[], BlockQuantized]


def emit_quantized(
    graph: Graph, record: TensorRecord, layout: Layout, quant: QuantType, pack: Pack, target: Target
) -> QuantizedMatrix:
    """Initializers (and, where they are stored otherwise, the nodes that unfold them) of one matrix.

    `pack` reads the tensor's blocks; it runs when the file is written.
    """
    before = set(graph.initializers)
    with graph.scope(record.name):
        emit = _emit_small if target.storage == "small" else _emit_fast
        made = emit(graph, record, layout, quant, pack, target)
    added = [v for n, v in graph.initializers.items() if n not in before and n.startswith(record.name)]
    record.stored_bytes = sum(v.nbytes for v in added)
    correction = " + offset" if layout.has_offset else ""
    record.format = f"{layout.bits} bit, block {layout.block_size}{correction}"
    return made


def _emit_fast(
    graph: Graph, record: TensorRecord, layout: Layout, quant: QuantType, pack: Pack, target: Target
) -> QuantizedMatrix:
    """The operator's final inputs; only float16 scales of the file may wait for a Cast."""
    name, grid = record.name, layout.grid
    shape = (grid.rows, grid.blocks)
    block_bytes = layout.code_bytes // grid.blocks
    offset = None
    if quant.offset is not None:
        offset = graph.initializer(
            f"{name}.offset",
            target.dtype,
            shape,
            lambda: store_as(pack().offset(), target.dtype, record, "offset"),
        )
    dtype = "float16" if quant.float16_scale is not None else target.dtype
    codes = graph.initializer(f"{name}.codes", "uint8", (*shape, block_bytes), lambda: pack().codes())
    scale = graph.initializer(f"{name}.scale", dtype, shape, lambda: store_as(pack().scale(), dtype, record, "scale"))
    if dtype != target.dtype:
        # The codes must be derived as the scale is. An Identity costs nothing: where a session folds the Cast,
        # it first drops the Identity.
        codes, scale = graph.op("Identity", codes), graph.cast(scale, target.dtype)
    return QuantizedMatrix(name, layout, codes, scale, offset)


class _StoredPlanes(Mapping[str, Value]):
    """Planes as initializers, made when a decoder asks for them."""

    def __init__(
        self, graph: Graph, record: TensorRecord, layout: Layout, quant: QuantType, pack: Pack, dtype: str
    ) -> None:
        self._graph, self._record, self._layout = graph, record, layout
        self._quant, self._pack, self._dtype = quant, pack, dtype
        self._made: dict[str, Value] = {}

    def __getitem__(self, plane: str) -> Value:
        if plane not in self._made:
            self._made[plane] = self._store(plane)
        return self._made[plane]

    def _store(self, plane: str) -> Value:
        found = self._quant.planes[plane]
        shape = (self._layout.rows, self._layout.columns // self._quant.gguf_block[0], found.count)

        def compute() -> npt.NDArray[Any]:
            matrix = self._pack()
            if plane == "d":  # the session will round these; find out now what that changes
                store_as(matrix.scale(), self._dtype, self._record, "scale")
                if self._quant.offset is not None:
                    store_as(matrix.offset(), self._dtype, self._record, "offset")
            values = self._quant.extract(plane, matrix.raw)
            return pair_pack(values) if found.dtype == "uint4" else values

        return self._graph.initializer(f"{self._record.name}.{plane}", found.dtype, shape, compute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._quant.planes)

    def __len__(self) -> int:
        return len(self._quant.planes)


def _emit_small(
    graph: Graph, record: TensorRecord, layout: Layout, quant: QuantType, pack: Pack, target: Target
) -> QuantizedMatrix:
    """Planes as the GGUF holds them, and the nodes that unfold them when a session starts."""
    ops = Recorder(graph, target.dtype)
    planes = _StoredPlanes(graph, record, layout, quant, pack, target.dtype)
    codes = ops.codes(quant.codes(ops, planes, layout.grid))
    scale = ops.finish(quant.scale(ops, planes, layout.grid))
    offset = ops.finish(quant.offset(ops, planes, layout.grid)) if quant.offset is not None else None
    return QuantizedMatrix(record.name, layout, codes, scale, offset)
