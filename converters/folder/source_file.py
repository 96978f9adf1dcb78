"""Which file a folder was made from, and whether another one is the same."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from converters.checked import typed
from repack.errors import MobiusError

OnBytes = Callable[[int], None]  # so many bytes more were read


def ignored(count: int) -> None:
    """For who does not want to know how far it is."""


@dataclass(frozen=True)
class SourceFile:
    """A GGUF file, or a part of one: its name without folders, SHA-256 in lower-case hex, size in bytes."""

    file: str
    sha256: str
    bytes: int

    @classmethod
    def of(cls, path: Path, on_bytes: OnBytes = ignored) -> Self:
        """Of a file, which is read as a whole."""
        return cls(path.name, sha256_of(path, on_bytes), path.stat().st_size)

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Self:
        """From JSON. Raises KeyError or TypeError if it is damaged."""
        return cls(typed(entry["file"], str), typed(entry["sha256"], str), typed(entry["bytes"], int))

    def require(self, path: Path, on_bytes: OnBytes = ignored) -> None:
        """Refuse a file that is not this one, whatever its name; it is read only if its size is right.

        Raises:
            MobiusError: it is another file.
        """
        if path.stat().st_size != self.bytes or sha256_of(path, on_bytes) != self.sha256:
            raise self.refusal(str(path))

    def require_same(self, other: Self, what: str) -> None:
        """As `require`, for a file that is known by its record only; `what` names it in the message."""
        if (other.bytes, other.sha256) != (self.bytes, self.sha256):
            raise self.refusal(what)

    def refusal(self, what: str) -> MobiusError:
        """The error that says that `what` is another file."""
        known = f"{self.file}, {self.bytes:,} bytes, SHA-256 {self.sha256[:12]}..."
        return MobiusError(f"{what} is not the file that was converted ({known})",
                           "give that file, or convert this one")  # fmt: skip


def sha256_of(path: Path, on_bytes: OnBytes = ignored) -> str:
    """Hexadecimal SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 22):
            digest.update(chunk)
            on_bytes(len(chunk))
    return digest.hexdigest()
