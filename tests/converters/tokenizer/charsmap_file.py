"""Character maps as SentencePiece compiles them: a double array of tries, and the replacements."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

_LEAF, _VALUE = 1 << 8, 1 << 31


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
