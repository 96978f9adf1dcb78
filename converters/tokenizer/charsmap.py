"""The character map of a SentencePiece file (`tokenizer.ggml.precompiled_charsmap`) as normalizers.

The map is a double-array trie of texts, each with its replacement; at each place of a text the longest that fits is
replaced. `tokenizers` looks at a grapheme at a time instead, takes the shortest that fits, and drops the rest of the
grapheme. So every character is made a grapheme of its own here, and what longer texts of the map do, which is to
compose a letter with up to three marks, is left to NFC. Marks are kept apart meanwhile, for NFC also sorts them, and
composes with marks that do not follow at once.
"""

import base64
import json
import unicodedata
from typing import Any

import numpy as np

from converters.tokenizer.algorithm import Json, replace
from converters.tokenizer.vocabulary import KEY
from repack.errors import InputError

# Nothing joins this to a grapheme, and no text has it: it is not, and never will be, a character.
_CUT = "\ufff0"
_PLACES_TO_CUT = r"(?<=[\s\S])(?=\n|[^\x00-\x7F])"
# But for two vowel signs that compose with another.
_BETWEEN_MARKS = r"(?<=\p{Mn})(?=\p{Mn})(?![\x{C56}\x{11127}])"
_MOST_MARKS = 3
_LAST_PLANE_WITH_DECOMPOSITIONS = 0x2FFFF


def charsmap_normalizers(values: Any, warnings: list[str]) -> list[Json]:
    """The steps that do to a text what the map does."""
    array = np.asarray(values)
    if array.dtype not in (np.int8, np.uint8):  # llama.cpp refuses others
        raise InputError(f"{KEY}precompiled_charsmap is no array of bytes")
    blob = array.tobytes()
    charsmap = Charsmap(blob)
    steps = [
        replace(_PLACES_TO_CUT, _CUT, regex=True),
        {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()},
        replace(_CUT, ""),
    ]
    if charsmap.normalize("e\u0301") == "\u00e9":
        steps += _MOST_MARKS * [replace(_BETWEEN_MARKS, _CUT, regex=True), {"type": "NFC"}, replace(_CUT, "")]
    _warn_of_differences(charsmap, steps, warnings)
    return steps


class Charsmap:
    """The map itself: what llama.cpp makes of a text."""

    def __init__(self, blob: bytes) -> None:
        size = int.from_bytes(blob[:4], "little")
        if size < 4 or size % 4 or 4 + size >= len(blob) or not blob.endswith(b"\0"):
            raise InputError(f"{KEY}precompiled_charsmap is damaged")
        self._units = np.frombuffer(blob[4 : 4 + size], np.dtype("<u4")).tolist()
        self._replacements = blob[4 + size :]
        try:
            self._replacements.decode()
        except UnicodeDecodeError:
            raise InputError(f"{KEY}precompiled_charsmap has a text that is not valid UTF-8") from None

    def normalize(self, text: str) -> str:
        """Replace at each place the longest text of the map."""
        data, at, done = text.encode(), 0, b""
        while at < len(data):
            length, replacement = self._longest(data, at)
            if not length:
                length = next(n for n in range(1, 5) if at + n == len(data) or data[at + n] & 0xC0 != 0x80)
                replacement = data[at : at + length]
            done += replacement
            at += length
        return done.decode(errors="replace")

    def _longest(self, data: bytes, at: int) -> tuple[int, bytes]:
        """Length and replacement of the longest text of the map that begins here; length 0 if none does."""
        units, found = self._units, (0, b"")
        node = _child(units[0])
        for length, byte in enumerate(data[at:], 1):
            node ^= byte
            if byte == 0 or node >= len(units) or units[node] & 0x800000FF != byte:
                break
            leaf = units[node] >> 8 & 1
            node ^= _child(units[node])
            if leaf and node < len(units):
                start = units[node] & 0x7FFFFFFF
                found = (length, self._replacements[start : self._replacements.find(b"\0", start)])
        return found


def _child(unit: int) -> int:
    """Where the children of a node are, relative to it."""
    return (unit >> 10) << ((unit & 0x200) >> 6)


def _warn_of_differences(charsmap: Charsmap, steps: list[Json], warnings: list[str]) -> None:
    from tokenizers import Tokenizer

    model = {"type": "WordLevel", "vocab": {"": 0}, "unk_token": ""}
    whole = {"version": "1.0", "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": steps}}
    normalizer = Tokenizer.from_str(json.dumps({**whole, "model": model})).normalizer
    differing = [text for text in _texts_to_try() if normalizer.normalize_str(text) != charsmap.normalize(text)]
    if differing:
        warnings.append(
            f"the character map of the tokenizer is not reproduced for {len(differing)} texts that were tried, "
            f"for example {differing[0]!r}: text with them can get other ids than in llama.cpp"
        )


def _texts_to_try() -> list[str]:
    """Marks that NFC composes and the map does not; letters with marks, written apart; characters; pairs of ASCII."""
    characters = [chr(i) for i in range(1, _LAST_PLANE_WITH_DECOMPOSITIONS) if not 0xD800 <= i < 0xE000]
    apart = [text for c in characters if (text := unicodedata.normalize("NFD", c)) != c]
    ascii_pairs = [a + b for a in characters[:0x7F] for b in characters[:0x7F]]
    return ["\u00e9\u0323", "\ufb01\u0301", *apart, *characters[:0x3FFF], *ascii_pairs]
