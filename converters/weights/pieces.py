"""Arrays of matrices, a piece at a time: a table of any size is written with the memory of some of its rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.graph import PIECE_BYTES, InPieces
from converters.weights.matrix import StoredRows, whole_layout
from converters.weights.records import TensorRecord, store_as
from repack.bits import pair_pack
from repack.block_quantized import BlockMatrix

Array = npt.NDArray[Any]
Make = Callable[[BlockMatrix, TensorRecord], Array]  # [rows, ...] of a matrix, or of rows and columns of one
Range = tuple[int, int]


def codes(matrix: BlockMatrix, _: TensorRecord) -> Array:
    """As operators take them: uint8 [rows, blocks, block_size * bits / 8]."""
    return matrix.codes()


def scale(dtype: str) -> Make:
    """Scales [rows, blocks] in the target type; roundings are counted."""
    return lambda matrix, record: store_as(matrix.scale(), dtype, record, "scale")


def offset(dtype: str) -> Make:
    """Offsets [rows, blocks] in the target type; roundings are counted."""
    return lambda matrix, record: store_as(matrix.offset(), dtype, record, "offset")


def zero_points(matrix: BlockMatrix, _: TensorRecord) -> Array:
    """As MatMulNBits takes them: uint8 [rows, blocks * bits / 8], rows filled up to whole bytes."""
    zeros = matrix.zero_points()
    assert zeros is not None
    return zeros if matrix.layout.bits == 8 else pair_pack(np.pad(zeros, ((0, 0), (0, zeros.shape[1] % 2))))


def upright(parts: Sequence[StoredRows], make: Make) -> InPieces:
    """What `make` gives of all parts, below one another: [rows, ...]."""
    layout = whole_layout(parts)
    return InPieces(layout.rows, lambda first, end: _joined(parts, make, (first, end), (0, layout.columns)))


def beside(parts: Sequence[StoredRows], make: Make) -> InPieces:
    """What `make` gives of all parts, beside one another."""
    one = parts[0].layout

    def between(first: int, end: int) -> Array:
        return np.concatenate([_joined([part], make, (first, end), (0, one.columns)) for part in parts], axis=1)

    return InPieces(one.rows, between)


def turned(parts: Sequence[StoredRows], make: Make, size: int) -> InPieces:
    """The transpose of what `make` gives, which is [rows, columns / size]."""
    layout = whole_layout(parts)

    def between(first: int, end: int) -> Array:
        made, step = None, max(1, PIECE_BYTES // ((end - first) * size))
        for low in range(0, layout.rows, step):
            rows = low, min(low + step, layout.rows)
            found = _joined(parts, make, rows, (first * size, end * size))
            made = np.empty((end - first, layout.rows), found.dtype) if made is None else made
            made[:, slice(*rows)] = found.T
        assert made is not None
        return made

    return InPieces(layout.columns // size, between, layout.together // size)


def joined(arrays: Iterable[Array]) -> Array:
    """Rows below one another, without a copy when there is one array."""
    found = list(arrays)
    return found[0] if len(found) == 1 else np.concatenate(found)


def _joined(parts: Sequence[StoredRows], make: Make, rows: Range, columns: Range) -> Array:
    return joined(make(matrix, record) for record, matrix in _shares(parts, rows, columns))


def _shares(parts: Sequence[StoredRows], rows: Range, columns: Range) -> Iterator[tuple[TensorRecord, BlockMatrix]]:
    """Of each part the rows that are among these of all parts."""
    start = 0
    for part in parts:
        own = max(rows[0] - start, 0), min(rows[1] - start, part.layout.rows)
        start += part.layout.rows
        if own[0] < own[1]:
            yield part.record, part.matrix().cut(own, columns)
