"""GPTQ: packed down the columns, which the words of a row hold in order once it is turned.

qweight int32 [columns * bits / 32, rows], qzeros int32 [groups, rows * bits / 32], scales [groups, rows], g_idx int32
[columns]: the group of each. Version 1 stores zero points less one, version 2 as they are.
"""

import numpy as np
import numpy.typing as npt

from repack.bits import U8
from repack.packed.integers import unpacked, words_as_bytes
from repack.packed.picked import Rows


def turned_stream(words: npt.NDArray[np.int32], rows: Rows) -> U8:
    """uint8 [rows, columns * bits / 8] of words [columns * bits / 32, all rows]."""
    return words_as_bytes(words[:, rows].T)


def stored_zeros(words: npt.NDArray[np.int32], bits: int) -> U8:
    """uint8 [groups, rows] as stored."""
    return unpacked(words_as_bytes(words), bits)
