"""Opens a file as a memory map, or says what the file is when it is not GGUF."""

import mmap
import re
from pathlib import Path

from repack.errors import InputError

MAGIC = b"GGUF"

_NEEDS_GGUF = "Give a .gguf file: search the model's name with 'GGUF' on the model hub."
_SAVED_PAGE = "The download saved a page instead of the file: check the link and access rights, download again."
_OLD_GGML = "This format ended in August 2023: download a GGUF file of this model."

# First bytes of a file -> what it is, what to do.
_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (
        b"version https://git-lfs",
        "a Git LFS pointer, not the model",
        "Run 'git lfs pull', or download the file itself.",
    ),
    # uint32 magics of the formats before GGUF, in file byte order: 'ggml', 'ggmf', 'ggjt', 'ggla'
    (b"lmgg", "a model in the old GGML format", _OLD_GGML),
    (b"fmgg", "a model in the old GGMF format", _OLD_GGML),
    (b"tjgg", "a model in the old GGJT format", _OLD_GGML),
    (b"algg", "a LoRA adapter in the old GGLA format", _OLD_GGML),
    (
        b"PK\x03\x04",
        "a zip archive or a PyTorch checkpoint",
        "Unpack it if it holds a .gguf file. " + _NEEDS_GGUF,
    ),
    (b"\x1f\x8b", "a gzip archive", "Unpack it first."),
    (b"\x80\x02", "a Python pickle or PyTorch checkpoint", _NEEDS_GGUF),
    (b"\x89HDF", "an HDF5 file", _NEEDS_GGUF),
)
_HTML_STARTS = (b"<!doctype", b"<html", b"<head", b"<?xml")

# Pieces made by tools that cut bytes, unlike `-00001-of-00003.gguf`, where each file has its own header.
_RAW_PIECE = re.compile(
    r"(?P<whole>.+)\.part-?\d+-?of-?\d+|(?P<gguf>.+\.gguf)(?:\.part-?\w+|[.-]split-\w+|\.\d{2,5})",
    re.IGNORECASE,
)


def map_file(path: Path) -> mmap.mmap:
    """Map a GGUF file read-only.

    Raises InputError when the file is missing, empty, a directory, unreadable, a raw piece of a file, or does
    not start with the magic `GGUF`; the message then names what it looks like.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a directory, not a GGUF file", _directory_hint(path))
        if not path.exists():
            raise InputError(f"{path}: no such file", "Check the path.")
        if not path.is_file():  # a pipe or device would block, and cannot be mapped
            raise InputError(f"{path}: not a regular file", "Save the model to disk first.")
        with path.open("rb") as file:
            first = file.read(512)
            if not first:
                raise InputError(f"{path}: file is empty (0 bytes)", "Download it again.")
            _refuse_raw_piece(path)
            if not first.startswith(MAGIC):
                raise _not_gguf(path, first)
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL, or a file emptied meanwhile
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: cannot be read: {reason}", "Check the path and its permissions.") from None


def _directory_hint(path: Path) -> str:
    if (path / "config.json").exists() and any(path.glob("*.safetensors")):
        return "It is a checkpoint, which inspect and convert read; this command needs llama.cpp, and so a GGUF file."
    names = sorted(entry.name for entry in path.iterdir() if entry.suffix.lower() == ".gguf")
    if not names:
        return "It holds no .gguf file. " + _NEEDS_GGUF
    return "Give one of its files: " + listed(names, 4)


def listed(names: list[str], most: int) -> str:
    """Join names for a message, and count those beyond `most`."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def _refuse_raw_piece(path: Path) -> None:
    match = _RAW_PIECE.fullmatch(path.name)
    if match is None:
        return
    whole = match["gguf"] or match["whole"]
    whole = whole if whole.lower().endswith(".gguf") else whole + ".gguf"
    raise InputError(
        f"{path}: is one raw piece of a larger file",
        f"Concatenate all pieces in order into {whole} (cat, or copy /b on Windows) and give that.",
    )


def _not_gguf(path: Path, first: bytes) -> InputError:
    for start, what, hint in _SIGNATURES:
        if first.startswith(start):
            return InputError(f"{path}: is {what}", hint)
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.lower().startswith(_HTML_STARTS):
        return InputError(f"{path}: is a web page (HTML), not the model", _SAVED_PAGE)
    if first[8:9] == b"{" and int.from_bytes(first[:8], "little") < 1 << 30:
        return InputError(f"{path}: is a safetensors file", _NEEDS_GGUF)
    if text.startswith((b"{", b"[")):
        return InputError(f"{path}: is a JSON file, not the model", _NEEDS_GGUF)
    if not any(first):
        return InputError(f"{path}: starts with zeros: the download did not finish", "Download it again.")
    line = text.split(b"\n")[0].strip()
    if line.isascii() and line.decode("ascii").isprintable():
        return InputError(f"{path}: is a text file: {line[:60].decode('ascii')!r}", _SAVED_PAGE)
    return InputError(f"{path}: is not a GGUF file: starts with bytes {first[:8].hex(' ')}", _NEEDS_GGUF)
