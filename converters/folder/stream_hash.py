"""SHA-256 of a file while it is written: another thread hashes what was just written, so that nothing is read again."""

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from converters.folder.source_file import sha256_of

_AHEAD = 2  # pieces that wait to be hashed
_ZEROS = bytes(1 << 20)


class StreamHash:
    """Give it every piece with its place in the file, in order; between them a file has zeros."""

    def __init__(self) -> None:
        self._digest, self._done, self._in_order = hashlib.sha256(), 0, True
        self._pool = ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()

    def feed(self, place: int, piece: Any) -> None:
        """Hash bytes (a buffer, which must not change) that stand at `place`."""
        self._in_order &= place >= self._done
        if not self._in_order:
            return
        while place > self._done:
            gap = min(place - self._done, len(_ZEROS))
            self._hash(memoryview(_ZEROS)[:gap])
        self._hash(memoryview(piece).cast("B"))

    def _hash(self, piece: memoryview) -> None:
        self._done += piece.nbytes
        self._waiting.append(self._pool.submit(self._digest.update, piece))
        if len(self._waiting) > _AHEAD:
            self._waiting.popleft().result()

    def of(self, path: Path) -> str:
        """The finished file's hash in hex; it is read if it was not written from its start to its end."""
        while self._waiting:
            self._waiting.popleft().result()
        if self._in_order and self._done == path.stat().st_size:
            return self._digest.hexdigest()
        return sha256_of(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the thread."""
        self._pool.shutdown(cancel_futures=True)
