"""llama.cpp's tokenizer on bytes that may be no text, and the text as which it reads them."""

import ctypes
import random

from tests.support.llama_vocab import LlamaVocab


class ByteVocab(LlamaVocab):
    """Also encodes bytes."""

    def encode_bytes(self, data: bytes) -> list[int]:
        room = len(data) * 3 + 8
        ids = (ctypes.c_int32 * room)()
        count = self._api.llama_tokenize(self._vocab, data, len(data), ids, room, False, True)
        assert count >= 0, f"llama_tokenize returned {count}"
        return list(ids[:count])


def as_text(data: bytes) -> str:
    """The text with a replacement character for each byte that is not part of a character."""
    text, at = [], 0
    while at < len(data):
        length = next((n for n in range(1, 5) if _is_character(data[at : at + n])), 0)
        text.append(data[at : at + length].decode() if length else "\ufffd")
        at += length or 1
    return "".join(text)


def _is_character(data: bytes) -> bool:
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def damaged(texts: list[str], seed: int = 0) -> list[bytes]:
    """Texts as bytes, with some bytes gone and some wrong ones in between."""
    rng = random.Random(seed)
    results = []
    for text in texts:
        data = bytearray(text.encode())
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(data) + 1)
            if rng.random() < 0.5:
                del data[at : at + 1]
            else:
                data.insert(at, rng.choice([0xFF, 0xFE, 0xC3, 0xE4]))
        results.append(bytes(data))
    return results
