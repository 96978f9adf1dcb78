"""Our export of any tokenizer kind beside llama.cpp's own tokenizer: ids, texts of ids, and ids that end generation."""

import ctypes
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from converters.tokenizer import TokenizerFiles, export_tokenizer
from tests.converters.tokenizer.vocab_files import write_gguf
from tests.llama_vocab import LlamaVocab


class PieceVocab(LlamaVocab):
    """Also gives the text of single tokens, as llama.cpp does while it generates."""

    def pieces(self, ids: Iterable[int]) -> bytes:
        """The texts of the ids one after the other; special tokens are written out."""
        return b"".join(map(self.piece, ids))

    def piece(self, token: int) -> bytes:
        call = self._api.llama_token_to_piece
        call.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, *[ctypes.c_int32] * 2, ctypes.c_bool]
        room = ctypes.create_string_buffer(4096)
        count = call(self._vocab, token, room, len(room), 0, True)
        assert count >= 0, f"llama_token_to_piece returned {count}"
        return room.raw[:count]


def compare(metadata: Mapping[str, Any], texts: Iterable[str], folder: Path) -> tuple[TokenizerFiles, list[str]]:
    """Export; the second result has the texts of which llama.cpp's ids, or the text that they stand for, differ."""
    files = export_tokenizer(metadata)
    assert files.tokenizer_json is not None
    ours = Tokenizer.from_str(files.tokenizer_json)
    as_bytes = {k: v.tobytes() if isinstance(v, np.ndarray) and v.itemsize == 1 else v for k, v in metadata.items()}
    llama = PieceVocab(write_gguf(folder / "vocab.gguf", as_bytes))
    differing = []
    try:
        for text in texts:
            ids, around = ours.encode(text, add_special_tokens=False).ids, ours.encode(text).ids
            same = ids == llama.encode(text) and around == llama.encode(text, add_special=True)
            strip = bool(ids) and bool(metadata.get("tokenizer.ggml.add_space_prefix"))
            decoded = llama.pieces(ids).decode(errors="replace")
            decoded = decoded.removeprefix(" ") if strip else decoded
            if not same or decoded != ours.decode(ids, skip_special_tokens=False):
                differing.append(text)
        assert set(files.eos_token_ids) == llama.stops()
    finally:
        llama.close()
    return files, differing
