"""SHA-256 of a file while it is written: of what is at hand, so that nothing is read again."""

import hashlib
from pathlib import Path
from typing import Any

from converters.folder.source_file import sha256_of

_ZEROS = bytes(1 << 16)


class StreamHash:
    """Give it every piece with its place in the file, in order; between them a file has zeros.

    In the same thread: another one keeps pieces alive, for a gain of 3 % of a conversion.
    """

    def __init__(self) -> None:
        self._digest, self._done, self._in_order = hashlib.sha256(), 0, True

    def feed(self, place: int, piece: Any) -> None:
        """Hash bytes (a buffer) that stand at `place`."""
        self._in_order &= place >= self._done
        while self._in_order and place > self._done:
            self._hash(memoryview(_ZEROS)[: place - self._done])
        if self._in_order:
            self._hash(memoryview(piece).cast("B"))

    def _hash(self, piece: memoryview) -> None:
        self._digest.update(piece)
        self._done += piece.nbytes

    def of(self, path: Path) -> str:
        """The finished file's hash in hex; it is read if it was not written from its start to its end."""
        if self._in_order and self._done == path.stat().st_size:
            return self._digest.hexdigest()
        return sha256_of(path)
