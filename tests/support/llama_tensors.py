"""Which tensors llama.cpp wants for an architecture: it is asked, so tests need no table of their own."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf

from tests.support.llama_library import LlamaError, ModelParams, library, library_path
from tests.support.tiny import add_value

Shape = tuple[int, ...]
_ON_TENSOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class _InitParams(ctypes.Structure):
    _fields_ = [("no_alloc", ctypes.c_bool), ("context", ctypes.c_void_p)]


def wanted_tensors(arch: str, metadata: Mapping[str, Any]) -> list[tuple[str, Shape]]:
    """Names and shapes (rows first) of all tensors, optional ones too, for a file with these keys.

    Raises LlamaError with llama.cpp's own words if it refuses the keys.
    """
    found: list[tuple[str, Shape]] = []
    base, api = _base(), library().api
    base.ggml_get_name.restype, base.ggml_get_name.argtypes = ctypes.c_char_p, [ctypes.c_void_p]

    def on_tensor(tensor: int, _data: object) -> None:
        sizes = list((ctypes.c_int64 * 4).from_address(tensor + 16))  # behind the type and the buffer
        while len(sizes) > 1 and sizes[-1] == 1:
            sizes.pop()
        found.append((base.ggml_get_name(tensor).decode(), tuple(reversed(sizes))))

    callback = _ON_TENSOR(on_tensor)
    api.llama_model_init_from_user.restype = ctypes.c_void_p
    api.llama_model_init_from_user.argtypes = [ctypes.c_void_p, _ON_TENSOR, ctypes.c_void_p, ModelParams]
    params = api.llama_model_default_params()
    params.n_gpu_layers = 0
    library().listen()
    model = api.llama_model_init_from_user(_header(base, arch, metadata), callback, None, params)
    if not model:
        raise LlamaError(library().error())
    api.llama_model_free(model)
    return list(dict(found).items())


def _header(base: Any, arch: str, metadata: Mapping[str, Any]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.gguf"
        writer = gguf.GGUFWriter(path, arch)
        for key, value in metadata.items():
            add_value(writer, key, value)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        base.gguf_init_from_file.restype = ctypes.c_void_p
        base.gguf_init_from_file.argtypes = [ctypes.c_char_p, _InitParams]
        context: int | None = base.gguf_init_from_file(os.fsencode(path), _InitParams(True, None))
    assert context is not None
    return context


def _base() -> Any:
    """The library that has ggml's own functions: llama.cpp's, or the one beside it."""
    path = library_path()
    assert path is not None
    api = library().api
    if hasattr(api, "gguf_init_from_file"):
        return api
    return ctypes.CDLL(str(next(path.parent.glob("libggml-base.so*"))), mode=ctypes.RTLD_GLOBAL)
