"""Two arrays or matrices side by side, a band at a time: whether they are the same bits, and where they are not."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.bits import bfloat16
from repack.block_quantized import BlockMatrix

BAND = 1 << 22  # weights that are compared together


@dataclass
class Unequal:
    """Weights that differ so far: how many, and the first by row and column; `stored` and `wanted` are its values."""

    count: int = 0
    row: int = 0
    column: int = 0
    stored: float = 0.0
    wanted: float = 0.0

    def add(self, stored: npt.NDArray[Any], wanted: npt.NDArray[Any], first_row: int) -> None:
        """Compare a band [rows, columns] of floats of one type, or of words that stand for bfloat16."""
        kind = f"u{stored.dtype.itemsize}"
        wrong = np.ascontiguousarray(stored).view(kind) != np.ascontiguousarray(wanted).view(kind)
        found = int(np.count_nonzero(wrong))
        if found and not self.count:
            row, column = (int(n) for n in np.unravel_index(int(wrong.argmax()), wrong.shape))
            self.row, self.column = first_row + row, column
            self.stored, self.wanted = _number(stored[row, column]), _number(wanted[row, column])
        self.count += found


def _number(value: Any) -> float:
    """Of a float, or of bfloat16's word."""
    return float(bfloat16(value) if value.dtype.kind == "u" else value)


def band_rows(rows: int, columns: int) -> range:
    """The first rows of bands."""
    return range(0, rows, max(1, BAND // max(1, columns)))


def same(stored: BlockMatrix, wanted: BlockMatrix) -> bool:
    """Whether codes and all numbers are equal, so that the weights are."""
    pairs = [(stored.codes(), wanted.codes()), (stored.scale(), wanted.scale())]
    if wanted.layout.has_offset:
        pairs.append((stored.offset(), wanted.offset()))
    if not all(_equal(*pair) for pair in pairs):
        return False
    more = [(stored.zero_points(), wanted.zero_points()), (stored.column_order(), wanted.column_order())]
    return all((one is None) == (other is None) and (one is None or _equal(one, other)) for one, other in more)


def _equal(one: Any, other: Any) -> bool:
    """Shape and bits: numpy takes 0.0 and -0.0 for the same."""
    if one.shape != other.shape:
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    words = f"u{one.dtype.itemsize}"
    return bool(np.array_equal(np.ascontiguousarray(one).view(words), np.ascontiguousarray(other).view(words)))
