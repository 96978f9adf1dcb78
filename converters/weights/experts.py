"""Stacks of matrices, one for each expert: a matrix of its own for every expert, and one array of all offsets."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import InPieces, Value
from converters.weights import pieces
from converters.weights.matrix import ExpertStack, Matrix, Parts, whole_layout
from converters.weights.pieces import upright
from repack.block_quantized import Layout


def expert_stem(stem: str, expert: int | None) -> str:
    """The stem of the names of an expert's initializers; None: the matrix is no stack."""
    return stem if expert is None else f"{stem}.{expert}"


def emit_each(c: GraphContext, name: str, parts: Sequence[Parts], emit: Callable[[str, Parts], Matrix]) -> ExpertStack:
    """A matrix for each expert by `emit`, which is given parts without offsets."""
    layout = whole_layout(parts[0])
    bare = [[replace(part, layout=replace(part.layout, has_offset=False)) for part in own] for own in parts]
    matrices = [emit(expert_stem(name, expert), own) for expert, own in enumerate(bare)]
    return ExpertStack(layout, matrices, _offsets(c, name, parts, layout) if layout.has_offset else None)


def _offsets(c: GraphContext, name: str, parts: Sequence[Parts], layout: Layout) -> Value:
    """[experts, blocks, rows]: as a product with block sums takes them."""
    dtype = c.target.dtype

    def between(first: int, end: int) -> npt.NDArray[Any]:
        return np.stack([upright(own, pieces.offset(dtype))().T for own in parts[first:end]])

    shape = (len(parts), layout.block_shape.blocks, layout.rows)
    return c.graph.initializer(f"{name}.offset", dtype, shape, InPieces(len(parts), between))


def place_stack(name: str, parts: Sequence[Parts], form: str, nbytes: int, rows_first: bool = True) -> None:
    """Note in the records what became of the tensors: `nbytes` of all together."""
    rows, first_row = whole_layout(parts[0]).rows, 0
    for part in parts[0]:
        share = nbytes * part.layout.rows // rows
        part.record.place(form, share, stored_as=name, first_row=first_row, rows_first=rows_first, experts=len(parts))
        first_row += part.layout.rows
