"""A position in a mapped file whose every read checks first that the bytes exist."""

import mmap
import struct

from repack.errors import InputError

_CUT_SHORT = "The download is incomplete or damaged: download it again."
_DAMAGED = "The file is damaged or was written by a faulty tool: download it again, or use another file."

U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")

MAX_NAME_BYTES = 1 << 16  # the limit of the GGUF specification for keys
# A file may hold as many items as it has bytes for, so time needs its own limit; real files stay below 1e6.
MAX_STRINGS = 1 << 24
MAX_INNER_ARRAYS = 1 << 16


def shown(name: str) -> str:
    """Quote a name from a file for a message: one line, printable, at most 80 characters."""
    text = ascii(name) if any(not c.isprintable() for c in name) else f"'{name}'"
    return text if len(text) <= 80 else text[:76] + "...'"


class Cursor:
    """A position in a mapped file. Every read checks the bytes that remain, and raises InputError."""

    def __init__(self, buffer: mmap.mmap, path: str) -> None:
        self.buffer = buffer
        self.path = path
        self.size = len(buffer)
        self.position = 0
        self.strings_left = MAX_STRINGS
        self.inner_arrays_left = MAX_INNER_ARRAYS

    def damaged(self, problem: str) -> InputError:
        """Build the error for a file that breaks the format; `problem` says what and where."""
        return InputError(f"{self.path}: {problem}", _DAMAGED)

    def cut_short(self, problem: str) -> InputError:
        """Build the error for a file that ends too early; `problem` says what and where."""
        return InputError(f"{self.path}: {problem}", _CUT_SHORT)

    def need(self, count: int, what: str) -> None:
        """Check that `count` more bytes exist."""
        if count > self.size - self.position:
            raise self.cut_short(
                f"{what} at offset {self.position} needs {count} bytes, "
                f"but the file ends after {self.size - self.position} (file size {self.size} bytes)"
            )

    def skip(self, count: int, what: str) -> None:
        """Move `count` bytes on."""
        self.need(count, what)
        self.position += count

    def u32(self, what: str) -> int:
        """Read a uint32."""
        self.need(4, what)
        self.position += 4
        return int(U32.unpack_from(self.buffer, self.position - 4)[0])

    def u64(self, what: str) -> int:
        """Read a uint64."""
        self.need(8, what)
        self.position += 8
        return int(U64.unpack_from(self.buffer, self.position - 8)[0])

    def name(self, what: str) -> str:
        """Read a key or a tensor name: 1 byte to 64 KiB of valid UTF-8 without NUL."""
        start = self.position
        length = self.u64(f"{what} length")
        if not 1 <= length <= MAX_NAME_BYTES:
            raise self.damaged(f"{what} at offset {start} has {length} bytes (1 to {MAX_NAME_BYTES} allowed)")
        self.skip(length, what)
        data = self.buffer[self.position - length : self.position]
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            raise self.damaged(f"{what} at offset {start} is not UTF-8: {data[:40]!r}") from None
        if "\0" in text:
            raise self.damaged(f"{what} {shown(text)} at offset {start} contains a NUL character")
        return text
