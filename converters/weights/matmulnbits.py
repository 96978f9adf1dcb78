"""ONNX Runtime's MatMulNBits as a form of quantized matrices, in either storage."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.weights.experts import emit_each, expert_stem, place_stack
from converters.weights.matrix import ExpertStack, FolderRows, Parts, StoredRows, whole_layout
from converters.weights.mixture import FORM, read_mixture
from converters.weights.nbits_emit import emit_fast, emit_small
from converters.weights.nbits_experts import emit_beside, emit_small_beside, emit_small_stack
from converters.weights.nbits_matrix import NBitsMatrix
from converters.weights.ordered import stored_order
from converters.weights.records import TensorRecord
from repack.bits import U8, pair_unpack
from repack.block_quantized import BlockMatrix, Layout
from repack.registry import QUANT_TYPES

# What the initializers of a matrix are called behind its stem, in either storage.
PARTS = {
    "codes",
    "scale",
    "offset",
    "zero_points",
    *(plane for quant in QUANT_TYPES.values() for plane in quant.planes),
}


class MatMulNBits:
    """The form, in either storage."""

    def emit(self, c: GraphContext, name: str, parts: Sequence[StoredRows], gathered: bool) -> NBitsMatrix:
        """Initializers (and, where they are stored otherwise, the nodes that unfold them) of one matrix."""
        layout = whole_layout(parts)
        with c.graph.scope(name):
            emit = emit_small if c.target.storage == "small" else emit_fast
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
                made = emit_small_stack(c, name, parts)
            else:
                made = emit_each(c, name, parts, lambda stem, own: emit_fast(c, stem, whole_layout(own), own))
        stems = [name, *(expert_stem(name, expert) for expert in range(len(parts)))]
        place_stack(name, parts, _form(whole_layout(parts[0])), sum(_stored_bytes(c, stem) for stem in stems))
        return made

    def emit_beside(self, c: GraphContext, name: str, parts: Sequence[StoredRows]) -> NBitsMatrix:
        """One matrix."""
        with c.graph.scope(name):
            emit = emit_small_beside if c.target.storage == "small" else emit_beside
            made = emit(c, name, parts)
        place_stack(name, [[part] for part in parts], _form(made.layout), _stored_bytes(c, name))
        return made

    def read_back(
        self,
        array: Callable[[str], npt.NDArray[Any]],
        layout: Layout,
        record: TensorRecord,
        expert: int | None = None,
    ) -> BlockMatrix:
        """The operator's inputs of a folder in storage `fast`."""
        if record.format.startswith(FORM):
            assert expert is not None
            return read_mixture(array, layout, record, expert)
        stem, offset = expert_stem(record.stored_as, expert), None
        if layout.has_offset:
            stored = array(f"{record.stored_as}.offset")
            offset = stored if expert is None else stored[expert].T
        zeros = _zeros(array(f"{stem}.zero_points"), layout) if layout.zero_points else None
        codes, scale, order = array(f"{stem}.codes"), array(f"{stem}.scale"), stored_order(record, array)
        return FolderRows(layout, record.first_row, codes, scale, offset, all_zeros=zeros, order=order)


def _form(layout: Layout) -> str:
    """For the records."""
    correction = " + offset" if layout.has_offset else " + zero points" if layout.zero_points else ""
    return f"{layout.bits} bit, block {layout.block_size}{correction}"


def _zeros(stored: U8, layout: Layout) -> U8:
    """One to a byte: uint8 [all rows, blocks]."""
    return stored if layout.bits == 8 else pair_unpack(stored)[:, : layout.block_shape.blocks]


def _stored_bytes(c: GraphContext, stem: str) -> int:
    """Of all initializers of a matrix, whatever the storage."""
    found = (c.graph.initializers.get(f"{stem}.{part}") for part in PARTS)
    return sum(value.nbytes for value in found if value is not None)
