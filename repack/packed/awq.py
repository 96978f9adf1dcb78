"""AWQ: `gemm` stands turned, and eight outputs to a word in an order of their own; `gemv` stands upright in order.

gemm: qweight int32 [columns, rows / 8], qzeros int32 [groups, rows / 8], scales [groups, rows]; nibble i of a word is
output 0, 2, 4, 6, 1, 3, 5, 7 of its eight. gemv: qweight int32 [rows, columns / 8], qzeros int32 [rows, words], scales
[rows, 8 * words], of which the first are the groups'.
"""

import numpy as np
import numpy.typing as npt

from repack.bits import U8, pair_pack, pair_unpack
from repack.packed.integers import words_as_bytes
from repack.packed.picked import Rows

NIBBLES = (0, 4, 1, 5, 2, 6, 3, 7)  # in which nibble of a word each of its eight outputs stands


def turned_codes(words: npt.NDArray[np.int32], rows: Rows) -> U8:
    """Codes one to a byte, uint8 [rows, n], of words [n, all rows / 8]."""
    first = 0
    if isinstance(rows, slice):  # only the words that they are in
        first = rows.start // 8
        words = words[:, first : -(-rows.stop // 8)]
        rows = slice(rows.start - 8 * first, rows.stop - 8 * first)
    values = pair_unpack(words_as_bytes(words)).reshape(len(words), -1, 8)[:, :, NIBBLES]
    found: U8 = values.reshape(len(words), -1).T[rows]
    return found


def turned_stream(words: npt.NDArray[np.int32], rows: Rows) -> U8:
    """uint8 [rows, columns / 2], as the operator has them."""
    return pair_pack(turned_codes(words, rows))
