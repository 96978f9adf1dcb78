"""ONNX Runtime's MatMulNBits: codes and scales in its layout, and one correction for types with an offset."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import MICROSOFT, Value
from converters.weights.experts import emit_each, expert_stem, place_stack
from converters.weights.matrix import (
    ExpertStack,
    FolderRows,
    Parts,
    StoredRows,
    block_sums,
    joined,
    offsets,
    scales,
    whole_layout,
)
from converters.weights.recorder import Recorder
from converters.weights.records import TensorRecord
from repack.bits import pair_pack
from repack.block_quantized import BlockMatrix, BlockQuantized, Layout
from repack.quant_type import QuantType
from repack.registry import QUANT_TYPES

OPERATOR, LEVEL = "MatMulNBits", "accuracy_level"
# The same for the products that ONNX Runtime makes of DequantizeLinear and MatMul: a setting of the session.
QDQ_LEVEL = "session.qdq_matmulnbits_accuracy_level"
ZERO_POINT_BYTES = {4: 0x88, 8: 0x80}
# What the initializers of a matrix are called behind its stem, in either storage.
PARTS = {"codes", "scale", "offset", *(plane for quant in QUANT_TYPES.values() for plane in quant.planes)}


@dataclass(frozen=True)
class NBitsMatrix:
    """`codes` uint8 [rows, blocks, bytes], `scale` and `offset` [rows, blocks].

    Either `codes` and `scale` are both initializers or both computed by nodes: ONNX Runtime's x64 kernel
    gives wrong results without an error when it packs constant codes beside scales that are not constant.
    """

    layout: Layout
    codes: Value
    scale: Value
    offset: Value | None

    def __post_init__(self) -> None:
        same = self.codes.derived == self.scale.derived
        assert same, f"{self.codes.name}: constant codes beside derived scales give wrong results"

    def product(self, c: GraphContext, x: Value) -> Value:
        """MatMulNBits, and the offsets times the sums of x over blocks."""
        layout = self.layout
        y = c.graph.op(
            OPERATOR, x, self.codes, self.scale,
            domain=MICROSOFT, K=layout.columns, N=layout.rows, bits=layout.bits, block_size=layout.block_size,
            accuracy_level=c.target.accuracy_level,
        )  # fmt: skip
        if self.offset is None:
            return y
        correction = c.operators.matmul_transposed(c, block_sums(c, x, layout), self.offset)
        return c.graph.op("Add", y, correction)

    def gather(self, c: GraphContext, index: Value) -> Value:
        """GatherBlockQuantized; the offset, where there is one, is added per block."""
        layout, g = self.layout, c.graph
        flat = g.op("Reshape", self.codes, g.ints(layout.rows, layout.code_bytes))
        x = g.op(
            "GatherBlockQuantized", flat, index, self.scale, self._zero_points(c),
            domain=MICROSOFT, bits=layout.bits, block_size=layout.block_size, gather_axis=0, quantize_axis=1,
        )  # fmt: skip
        if self.offset is None:
            return x
        offset = g.op("Gather", self.offset, index, axis=0)
        blocks = g.op("Reshape", x, g.ints(0, 0, layout.block_shape.blocks, layout.block_size))
        summed = g.op("Add", blocks, g.op("Unsqueeze", offset, g.ints(-1)))
        return g.op("Reshape", summed, g.ints(0, 0, layout.columns))

    def _zero_points(self, c: GraphContext) -> Value:
        """The implicit zero point written out, since execution providers disagree on the default; one byte stored.

        Rows are padded to whole bytes, as the operator demands.
        """
        layout = self.layout
        row_bytes = -(-layout.block_shape.blocks * layout.bits // 8)
        byte = np.array([[ZERO_POINT_BYTES[layout.bits]]], np.uint8)
        stored = c.graph.constant(f"zero_point_{layout.bits}", byte)
        return c.graph.op("Expand", stored, c.graph.ints(layout.rows, row_bytes))


def set_accuracy_level(model: Any, level: int) -> None:
    """Replace the level of every product in an ONNX model (a ModelProto): 4 for int8 activations, 0 for float ones."""
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == OPERATOR and attribute.name == LEVEL:
                attribute.i = level


class MatMulNBits:
    """The form, in either storage."""

    def emit(self, c: GraphContext, name: str, parts: Sequence[StoredRows], gathered: bool) -> NBitsMatrix:
        """Initializers (and, where they are stored otherwise, the nodes that unfold them) of one matrix."""
        layout = whole_layout(parts)
        with c.graph.scope(name):
            emit = _emit_small if c.target.storage == "small" else _emit_fast
            made = emit(c, name, layout, parts)
        added, first_row = _stored_bytes(c, name), 0
        for part in parts:
            part.record.place(
                _form(layout), added * part.layout.rows // layout.rows, stored_as=name, first_row=first_row
            )
            first_row += part.layout.rows
        return made

    def emit_experts(self, c: GraphContext, name: str, parts: Sequence[Parts]) -> ExpertStack:
        """A matrix for each expert; in storage `small` they are unfolded together, and cut when a session starts."""
        with c.graph.scope(name):
            if c.target.storage == "small":
                made = _emit_small_stack(c, name, parts)
            else:
                made = emit_each(c, name, parts, lambda stem, own: _emit_fast(c, stem, whole_layout(own), own))
        stems = [name, *(expert_stem(name, expert) for expert in range(len(parts)))]
        place_stack(name, parts, _form(whole_layout(parts[0])), sum(_stored_bytes(c, stem) for stem in stems))
        return made

    def read_back(
        self,
        array: Callable[[str], npt.NDArray[Any]],
        layout: Layout,
        record: TensorRecord,
        expert: int | None = None,
    ) -> BlockMatrix:
        """The operator's inputs of a folder in storage `fast`."""
        stem, offset = expert_stem(record.stored_as, expert), None
        if layout.has_offset:
            stored = array(f"{record.stored_as}.offset")
            offset = stored if expert is None else stored[expert].T
        return FolderRows(layout, record.first_row, array(f"{stem}.codes"), array(f"{stem}.scale"), offset)


def _form(layout: Layout) -> str:
    """For the records."""
    correction = " + offset" if layout.has_offset else ""
    return f"{layout.bits} bit, block {layout.block_size}{correction}"


def _stored_bytes(c: GraphContext, stem: str) -> int:
    """Of all initializers of a matrix, whatever the storage."""
    found = (c.graph.initializers.get(f"{stem}.{part}") for part in PARTS)
    return sum(value.nbytes for value in found if value is not None)


def _emit_fast(c: GraphContext, name: str, layout: Layout, parts: Sequence[StoredRows]) -> NBitsMatrix:
    """The operator's final inputs; only float16 scales of the file may wait for a Cast."""
    g, wanted = c.graph, c.target.dtype
    shape = (layout.rows, layout.block_shape.blocks)
    offset = None
    if layout.has_offset:
        offset = g.initializer(f"{name}.offset", wanted, shape, lambda: offsets(parts, wanted))
    # Stored as the file has them where widening them is exact.
    dtype = "float16" if layout.float16_scale and wanted == "float32" else wanted
    codes = g.initializer(
        f"{name}.codes",
        "uint8",
        (*shape, layout.code_bytes // shape[1]),
        lambda: joined(part.matrix().codes() for part in parts),
    )
    scale = g.initializer(f"{name}.scale", dtype, shape, lambda: scales(parts, dtype))
    if dtype != wanted:
        # The codes must be derived as the scale is. An Identity costs nothing: where a session folds the Cast,
        # it first drops the Identity.
        codes, scale = g.op("Identity", codes), g.cast(scale, wanted)
    return NBitsMatrix(layout, codes, scale, offset)


def _emit_small(c: GraphContext, name: str, layout: Layout, parts: Sequence[StoredRows]) -> NBitsMatrix:
    """Planes as the GGUF holds them, and the nodes that unfold them when a session starts."""
    quant = QUANT_TYPES[parts[0].record.source_type]
    ops = Recorder(c.graph, c.target.dtype)
    planes = _StoredPlanes(c, name, layout, quant, parts)
    codes = ops.codes(quant.codes(ops, planes, layout.block_shape))
    scale = ops.finish(quant.scale(ops, planes, layout.block_shape))
    offset = ops.finish(quant.offset(ops, planes, layout.block_shape)) if quant.offset is not None else None
    return NBitsMatrix(layout, codes, scale, offset)


def _emit_small_stack(c: GraphContext, name: str, parts: Sequence[Parts]) -> ExpertStack:
    """All rows as one matrix, cut into those of the experts."""
    every = [part for own in parts for part in own]
    layout, count, g = whole_layout(parts[0]), len(parts), c.graph
    whole = _emit_small(c, name, whole_layout(every), every)
    sizes = g.ints(*[layout.rows] * count)
    codes, scale = (g.multi_op("Split", stored, sizes, outputs=count, axis=0) for stored in (whole.codes, whole.scale))
    offset = None
    if whole.offset is not None:
        cut = g.op("Reshape", whole.offset, g.ints(count, layout.rows, layout.block_shape.blocks))
        offset = g.op("Transpose", cut, perm=[0, 2, 1])
    bare = replace(layout, has_offset=False)
    return ExpertStack(layout, [NBitsMatrix(bare, *own, None) for own in zip(codes, scale, strict=True)], offset)


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
                scales(self._parts, dtype)
                if self._quant.offset is not None:
                    offsets(self._parts, dtype)
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
