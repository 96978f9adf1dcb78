"""How a matrix of MatMulNBits is stored: final inputs, or planes that unfold when a session starts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.weights import pieces
from converters.weights.matrix import StoredRows
from converters.weights.nbits_matrix import NBitsMatrix, zero_point_bytes
from converters.weights.pieces import joined, upright
from converters.weights.recorder import Recorder
from repack.bits import pair_pack
from repack.block_quantized import BlockQuantized, Layout
from repack.quant_type import QuantType
from repack.registry import QUANT_TYPES


def emit_fast(c: GraphContext, name: str, layout: Layout, parts: Sequence[StoredRows]) -> NBitsMatrix:
    """The operator's final inputs; only 16-bit scales of the file may wait for a Cast."""
    g, wanted = c.graph, c.target.dtype
    shape = (layout.rows, layout.block_shape.blocks)
    offset = None
    if layout.has_offset:
        offset = g.initializer(f"{name}.offset", wanted, shape, upright(parts, pieces.offset(wanted)))
    # Stored as the file has them where widening them is exact.
    dtype = layout.scale_type if wanted == "float32" else wanted
    codes = g.initializer(
        f"{name}.codes",
        "uint8",
        (*shape, layout.code_bytes // shape[1]),
        upright(parts, pieces.codes),
    )
    scale = g.initializer(f"{name}.scale", dtype, shape, upright(parts, pieces.scale(dtype)))
    zeros = None
    if layout.zero_points:
        size = (layout.rows, zero_point_bytes(layout))
        zeros = g.initializer(f"{name}.zero_points", "uint8", size, upright(parts, pieces.zero_points))
    if dtype != wanted:
        # The codes must be derived as the scale is. An Identity costs nothing: where a session folds the Cast,
        # it first drops the Identity.
        codes, scale = g.op("Identity", codes), g.cast(scale, wanted)
        zeros = None if zeros is None else g.op("Identity", zeros)
    return NBitsMatrix(layout, codes, scale, offset, zeros)


def emit_small(c: GraphContext, name: str, layout: Layout, parts: Sequence[StoredRows]) -> NBitsMatrix:
    """Planes as the GGUF holds them, and the nodes that unfold them when a session starts."""
    quant = QUANT_TYPES[parts[0].record.source_type]
    ops = Recorder(c.graph, c.target.dtype)
    planes = _StoredPlanes(c, name, layout, quant, parts)
    codes = ops.codes(quant.codes(ops, planes, layout.block_shape))
    scale = ops.finish(quant.scale(ops, planes, layout.block_shape))
    offset = ops.finish(quant.offset(ops, planes, layout.block_shape)) if quant.offset is not None else None
    return NBitsMatrix(layout, codes, scale, offset)


class _StoredPlanes(Mapping[str, Value]):
    """Planes as initializers, made when a decoder asks for them."""

    def __init__(
        self, c: GraphContext, name: str, layout: Layout, quant: QuantType, parts: Sequence[StoredRows]
    ) -> None:
        self._c, self._name, self._layout, self._quant, self._parts = c, name, layout, quant, parts
        self._made: dict[str, Value] = {}

    def __getitem__(self, plane: str) -> Value:
        if plane not in self._made:
            self._made[plane] = self._store(plane)
        return self._made[plane]

    def _store(self, plane: str) -> Value:
        found, dtype = self._quant.planes[plane], self._c.target.dtype
        shape = (self._layout.rows, self._layout.columns // self._quant.gguf_block[0], found.count)

        def compute() -> npt.NDArray[Any]:
            if plane == list(self._quant.planes)[-1]:
                # The session will round the scales; find out now, once per tensor, what that changes.
                upright(self._parts, pieces.scale(dtype))()
                if self._quant.offset is not None:
                    upright(self._parts, pieces.offset(dtype))()
            values = joined(self._plane(part, plane) for part in self._parts)
            return pair_pack(values) if found.dtype == "uint4" else values

        return self._c.graph.initializer(f"{self._name}.{plane}", found.dtype, shape, compute)

    @staticmethod
    def _plane(part: StoredRows, plane: str) -> npt.NDArray[Any]:
        matrix = part.matrix()
        assert isinstance(matrix, BlockQuantized), f"{part.record.name} is not in GGUF blocks"
        return matrix.planes[plane]

    def __iter__(self) -> Iterator[str]:
        return iter(self._quant.planes)

    def __len__(self) -> int:
        return len(self._quant.planes)
