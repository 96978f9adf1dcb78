"""How stacks of matrices of MatMulNBits are stored: experts one by one, or beside one another in one matrix."""

from collections.abc import Sequence
from dataclasses import replace

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.weights import pieces
from converters.weights.matrix import ExpertStack, Parts, StoredRows, whole_layout
from converters.weights.nbits_emit import emit_small
from converters.weights.nbits_matrix import NBitsMatrix
from converters.weights.pieces import Make, beside
from repack.block_quantized import Layout
from repack.errors import MobiusError


def emit_small_stack(c: GraphContext, name: str, parts: Sequence[Parts]) -> ExpertStack:
    """All rows as one matrix, cut into those of the experts."""
    every = [part for own in parts for part in own]
    layout, count, g = whole_layout(parts[0]), len(parts), c.graph
    whole = emit_small(c, name, whole_layout(every), every)
    sizes = g.ints(*[layout.rows] * count)
    codes, scale = (g.multi_op("Split", stored, sizes, outputs=count, axis=0) for stored in (whole.codes, whole.scale))
    offset = None
    if whole.offset is not None:
        cut = g.op("Reshape", whole.offset, g.ints(count, layout.rows, layout.block_shape.blocks))
        offset = g.op("Transpose", cut, perm=[0, 2, 1])
    bare = replace(layout, has_offset=False)
    return ExpertStack(layout, [NBitsMatrix(bare, *own, None) for own in zip(codes, scale, strict=True)], offset)


def _beside(parts: Sequence[StoredRows]) -> Layout:
    one = parts[0].layout
    return replace(one, columns=len(parts) * one.columns)


def emit_beside(c: GraphContext, name: str, parts: Sequence[StoredRows]) -> NBitsMatrix:
    """The operator's final inputs of matrices beside one another."""
    g, wanted, layout = c.graph, c.target.dtype, _beside(parts)
    if layout.zero_points:
        raise MobiusError(
            f"{parts[0].record.name}: experts with zero points cannot be gathered on {c.target.name} yet",
            "leave out --ep, or take --ep cpu",
        )
    shape = (layout.rows, layout.block_shape.blocks)

    def stored(part: str, dtype: str, make: Make, *tail: int) -> Value:
        return g.initializer(f"{name}.{part}", dtype, (*shape, *tail), beside(parts, make))

    codes = stored("codes", "uint8", pieces.codes, layout.code_bytes // shape[1])
    scale = stored("scale", wanted, pieces.scale(wanted))
    offset = stored("offset", wanted, pieces.offset(wanted)) if layout.has_offset else None
    return NBitsMatrix(layout, codes, scale, offset)


def emit_small_beside(c: GraphContext, name: str, parts: Sequence[StoredRows]) -> NBitsMatrix:
    """The same, unfolded below one another and turned when a session starts."""
    below, g, layout = emit_small(c, name, whole_layout(parts), parts), c.graph, _beside(parts)
    blocks = parts[0].layout.block_shape.blocks

    def turned(value: Value, *tail: int) -> Value:
        cut = g.op("Reshape", value, g.ints(len(parts), layout.rows, blocks, *tail))
        swapped = g.op("Transpose", cut, perm=[1, 0, *range(2, 3 + len(tail))])
        return g.op("Reshape", swapped, g.ints(layout.rows, len(parts) * blocks, *tail))

    size = layout.code_bytes // layout.block_shape.blocks
    offset = None if below.offset is None else turned(below.offset)
    return NBitsMatrix(layout, turned(below.codes, size), turned(below.scale), offset)
