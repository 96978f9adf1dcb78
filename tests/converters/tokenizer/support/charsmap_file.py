"""Character maps as SentencePiece compiles them: a double array of tries, and the replacements; and one to try."""

import functools
import unicodedata
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_LEAF, _VALUE = 1 << 8, 1 << 31

SINGLES = {"Ａ": "A", "ｃ": "c", "１": "1", "ﬁ": "fi", "①": "1", "…": "...", "㎏": "kg", "\u200b": "", "\u3000": " "}
SINGLES |= {"\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "½": "1⁄2", "ｶ": "カ", "ﾞ": "\u3099", "Ａ\u030a": "Å"}


def compile_charsmap(replacements: Mapping[str, str]) -> NDArray[np.uint8]:
    """The map of each text to its replacement."""
    texts = b"".join(value.encode() + b"\0" for value in dict.fromkeys(replacements.values())) or b"\0"
    starts, at = {}, 0
    for value in dict.fromkeys(replacements.values()):
        starts[value] = at
        at += len(value.encode()) + 1
    trie: dict[int, dict] = {}
    for key, value in replacements.items():
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = starts[value]
    units = np.array(_double_array(trie), np.uint32).tobytes()
    return np.frombuffer(len(units).to_bytes(4, "little") + units + texts, np.uint8)


def _double_array(trie: dict[int, dict]) -> list[int]:
    """A unit has its byte, whether a value hangs below, and where its children are: at that place xor their byte."""
    units: dict[int, int] = {0: 0}
    used: set[int] = set()
    waiting = [(0, trie)]
    first = 1
    while waiting:
        index, node = waiting.pop()
        place = first
        while place in used or any(place ^ byte in units for byte in node):
            place += 1
        used.add(place)
        while first in units:
            first += 1
        units[index] |= (index ^ place) << 10 | (_LEAF if 0 in node else 0)
        for byte, child in node.items():
            units[place ^ byte] = byte if byte else _VALUE | child  # type: ignore[operator]
            if byte:
                waiting.append((place ^ byte, child))
    return [units.get(i, 0) for i in range((max(units) | 255) + 1)]


def compositions() -> dict[str, str]:
    """Letters with marks, written apart in every way, as in the maps of real files."""
    found = {}
    for code in [*range(0xC0, 0x250), *range(0x1E00, 0x2000), *range(0x3040, 0x3100), *range(0xAC00, 0xB000)]:
        letter = chr(code)
        if unicodedata.normalize("NFC", letter) == letter:
            found[unicodedata.normalize("NFD", letter)] = letter
            if " " in (short := unicodedata.decomposition(letter)) and "<" not in short:
                found["".join(chr(int(part, 16)) for part in short.split())] = letter
    return {text: letter for text, letter in found.items() if text != letter}


@functools.cache
def composing_charsmap() -> NDArray[np.uint8]:
    """The map of the single characters and of the compositions."""
    return compile_charsmap(SINGLES | compositions())
