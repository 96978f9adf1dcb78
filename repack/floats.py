"""F32, F16 and BF16 as float32; all three widen exactly."""

import numpy as np
import numpy.typing as npt

from repack.bits import U8


def read_floats(raw: U8, type_name: str) -> npt.NDArray[np.float32]:
    """Little-endian floats: uint8 [rows, bytes] -> float32 [rows, columns]."""
    if type_name == "BF16":  # the upper half of a float32
        return (np.ascontiguousarray(raw).view("<u2").astype(np.uint32) << 16).view(np.float32)
    kind = {"F32": "<f4", "F16": "<f2"}[type_name]
    return np.ascontiguousarray(raw).view(kind).astype(np.float32)
