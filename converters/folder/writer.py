"""Writing a model folder: complete under its final name, or not there at all."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from converters.folder.manifest import MANIFEST
from repack.errors import InputError, MobiusError

MODEL, DATA = "model.onnx", "model.onnx_data"
OnTensor = Callable[[str, int], None]  # name of a stored weight, bytes
SPARE_BYTES = 16 << 20  # for everything but the weights when free space is checked


@contextmanager
def new_folder(destination: Path, force: bool, weight_bytes: int) -> Iterator[Path]:
    """A temporary folder beside `destination`; renamed to it on success, removed on any failure.

    Raises:
        MobiusError: no space, or no permission.
        InputError: the destination exists and may not be replaced.
    """
    destination = Path.cwd() / destination  # not resolved: a link is replaced, not what it points to
    check_destination(destination, force)
    work = destination.parent / f".{destination.name}.partial-{os.getpid()}"
    needed = weight_bytes + SPARE_BYTES
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(destination.parent).free
        if free < needed:
            raise _no_space(destination, needed, free)
        shutil.rmtree(work, ignore_errors=True)  # of a killed run with our process number
        work.mkdir()
        yield work
        _sync(work)
        _move_into_place(work, destination)
    except OSError as error:
        if error.errno in (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # None: numpy wrote only a part
            raise _no_space(destination, needed, shutil.disk_usage(destination.parent).free) from error
        raise MobiusError(
            f"cannot write {destination}: {error.strerror or error}", "choose another folder with -o"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_destination(destination: Path, force: bool) -> None:
    """Refuse to replace anything but an empty folder or, with `force`, a model folder of ours."""
    if not destination.exists() and not destination.is_symlink():
        return
    if not destination.is_dir():
        raise InputError(f"{destination} exists and is not a folder", "choose another folder with -o")
    if not any(destination.iterdir()):
        return
    if not (destination / MANIFEST).exists():
        raise InputError(f"{destination} exists and is not a folder that mobius wrote", "choose another folder with -o")
    if not force:
        raise InputError(f"{destination} exists", "pass --force to replace it, or choose another folder with -o")


def _no_space(destination: Path, needed: int, free: int) -> MobiusError:
    return MobiusError(
        f"not enough space for {destination}: {needed / 1e6:.0f} MB needed, {free / 1e6:.0f} MB free",
        "free some space, or choose another folder with -o",
    )


def files_in(folder: Path) -> list[Path]:
    """All files, also in inner folders, by name."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _sync(folder: Path) -> None:
    """Bring all files to the disk before their folder gets its final name."""
    for path in files_in(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _move_into_place(work: Path, destination: Path) -> None:
    """Rename; an old folder steps aside first and comes back if the new one cannot be put in place."""
    if not destination.exists():
        work.rename(destination)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{destination.name}.old-", dir=destination.parent))
    old = aside / "old"
    destination.rename(old)
    try:
        work.rename(destination)
    except OSError:
        old.rename(destination)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """UTF-8, indented, ending in a newline; the same content gives the same bytes."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
