"""A safetensors file: a JSON header, then the tensors' bytes; mapped, nothing is copied.

The library's own reader for NumPy refuses bfloat16, and copies.
"""

import json
import math
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from repack.errors import InputError

# Bytes of one element, by the format's names.
SIZES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2,
    "I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
}  # fmt: skip
MOST_HEADER = 100_000_000  # bytes, as the library has it
_DAMAGED = "the file is damaged or its download did not finish: download it again"


@dataclass(frozen=True)
class Entry:
    """A tensor of a file: `dtype` by the format's name, `shape` outermost first."""

    dtype: str
    shape: tuple[int, ...]
    data: npt.NDArray[np.uint8]  # all of its bytes, read-only, read when they are used


def read_safetensors(path: Path) -> dict[str, Entry]:
    """All tensors of a file by name.

    Raises:
        InputError: the file cannot be read, or is no whole safetensors file.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: an empty file
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be read: {reason}", "check the folder's files") from None
    length = int.from_bytes(mapped[:8], "little")
    if not 2 <= length <= min(MOST_HEADER, len(mapped) - 8):
        raise InputError(f"{path}: is not a safetensors file", _DAMAGED)
    try:
        header = json.loads(mapped[8 : 8 + length])
        header.pop("__metadata__", None)
        body = np.frombuffer(mapped, np.uint8, offset=8 + length)
        return {name: _entry(path, name, one, body) for name, one in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path}: its header is no header of safetensors", _DAMAGED) from None


def _entry(path: Path, name: str, one: dict[str, Any], body: npt.NDArray[np.uint8]) -> Entry:
    dtype, shape, (first, last) = one["dtype"], tuple(int(size) for size in one["shape"]), one["data_offsets"]
    if dtype not in SIZES:
        raise InputError(f"{path}: {name} is of type {dtype}, which is not known", "use a newer version of mobius")
    whole = 0 <= first <= last <= body.size and min(shape, default=1) >= 0
    if not whole or last - first != math.prod(shape) * SIZES[dtype]:
        raise InputError(f"{path}: the bytes of {name} are not all there", _DAMAGED)
    return Entry(dtype, shape, body[first:last])
