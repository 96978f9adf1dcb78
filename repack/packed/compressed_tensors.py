"""compressed-tensors `pack-quantized`: rows are dense streams of codes, already the operator's bytes for 4 and 8 bits.

weight_packed int32 [rows, columns * bits / 32]: code k of a row is bits k * bits and on of the row, lowest first
weight_scale [rows, groups]; [1] for all
weight_zero_point int32 [rows * bits / 32, groups], packed down the rows; int8 [1] for all
"""

import numpy as np
import numpy.typing as npt

from repack.bits import U8
from repack.packed.integers import unpacked, words_as_bytes
from repack.packed.picked import Rows


def row_stream(packed: npt.NDArray[np.int32], rows: Rows, columns: int, bits: int) -> U8:
    """uint8 [rows, columns * bits / 8] of words [rows, ..], whose last may be filled up."""
    return words_as_bytes(packed[rows])[:, : -(-columns * bits // 8)]


def row_zeros(packed: npt.NDArray[np.int32], rows: Rows, bits: int) -> U8:
    """uint8 [rows, groups] of words [rows * bits / 32, groups]."""
    found: U8 = unpacked(words_as_bytes(packed.T), bits).T[rows]
    return found


def sorted_groups(groups: npt.NDArray[np.int32]) -> npt.NDArray[np.intp] | None:
    """Columns in the order of their groups; None where they stand so."""
    order = np.argsort(groups, kind="stable")
    return None if (order == np.arange(len(order))).all() else order
