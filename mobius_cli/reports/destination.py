"""Where a report goes: stdout, or a file that is there in full or not at all."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mobius_cli.output import Output
from mobius_cli.reports.wanted import Wanted
from repack.errors import InputError, MobiusError

HINT = "choose another file with -o"


@contextmanager
def destination(wanted: Wanted, output: Output, needed: Sequence[Path] = ()) -> Iterator[Callable[[str], None]]:
    """What takes the text of the report, once; what would stop it from being written is found before it is made.

    A regular file is replaced, as a shell's redirection does, also through a link; nothing is written if the report
    is not made.

    Args:
        wanted: the form and the file.
        output: for stdout, and for the word that a file was written.
        needed: files that the report must not replace.

    Raises:
        InputError: the file cannot be written there, or is one of `needed`.
        MobiusError: the disk is full, or failed.
    """
    if wanted.path is None:
        yield output.data
        return
    path = wanted.path
    target = _replaceable(path, needed)
    partial = target.with_name(f".mobius-{os.getpid()}.partial")
    try:
        stream = partial.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}", HINT) from error

    def put(text: str) -> None:
        try:
            _replace(target, partial, stream, text)
        except OSError as error:
            raise MobiusError(f"cannot write {path}: {error.strerror or error}", HINT) from error
        output.note(f"wrote {path}")

    try:
        yield put
    finally:
        with suppress(OSError):  # of a full disk, which was said
            stream.close()
        partial.unlink(missing_ok=True)


def _replaceable(path: Path, needed: Sequence[Path]) -> Path:
    """The file itself, behind links."""
    try:
        target = path.resolve()
        if target.is_dir():
            raise InputError(f"cannot write {path}: it is a folder", HINT)
        if not target.parent.is_dir():
            raise InputError(f"cannot write {path}: there is no folder {path.parent}", "make the folder first")
        if not target.exists():
            return target
        if not target.is_file():
            raise InputError(f"cannot write {path}: it is not a regular file", HINT)
        if not os.access(target, os.W_OK):
            raise InputError(f"cannot write {path}: it is write-protected", HINT)
        if any(other.exists() and target.samefile(other) for other in needed):
            raise InputError(f"{path} is a file that is read here: it is not replaced", HINT)
    except (OSError, RuntimeError) as error:  # links in a circle, a name that is too long
        raise InputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}", HINT) from error
    return target


def _replace(target: Path, partial: Path, stream: IO[str], text: str) -> None:
    with stream:
        stream.write(text + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    if target.exists():
        partial.chmod(target.stat().st_mode & 0o777)
    partial.replace(target)
