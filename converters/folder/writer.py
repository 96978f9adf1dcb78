"""Writing a model folder: complete under its final name, or not there at all."""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from converters.folder.layout import every_graph_file
from converters.folder.manifest import FORMAT, MANIFEST
from converters.folder.seal import CARD, is_sealed
from repack.errors import InputError, MobiusError

OnTensor = Callable[[str, int], None]  # name of the weight that is written next, bytes written since the last call
SPARE_BYTES = 16 << 20  # for everything but the weights when free space is checked
# What a conversion can write: the names that may be lost with a folder whose own list cannot be read.
WRITTEN = every_graph_file() | frozenset({
    MANIFEST, "genai_config.json", "config.json", "generation_config.json", "tokenizer.json",
    "tokenizer_config.json", "chat_template.jinja", CARD,
})  # fmt: skip
WRITTEN_TEMPLATES = "additional_chat_templates"  # a folder, where transformers looks for templates by name


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
        check_space(destination, weight_bytes)
        shutil.rmtree(work, ignore_errors=True)  # of a killed run with our process number
        work.mkdir()
        yield work
        _sync(work)
        _move_into_place(work, destination, force)
    except OSError as error:
        if error.errno in (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # None: numpy wrote only a part
            raise _no_space(destination, needed, shutil.disk_usage(destination.parent).free) from error
        raise MobiusError(
            f"cannot write {destination}: {error.strerror or error}", "choose another folder with -o"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def check_destination(destination: Path, force: bool, sources: Sequence[Path] = ()) -> None:
    """Refuse to replace anything but an empty folder or, with `force`, a model folder of which we wrote every file.

    Args:
        destination: the folder to write.
        force: it may be replaced.
        sources: files that the conversion reads; none of them may be lost with the old folder.

    Raises:
        InputError: it may not be replaced; the message says why, and nothing was touched.
    """
    if not destination.exists() and not destination.is_symlink():
        return
    if not destination.is_dir():
        raise InputError(f"{destination} exists and is not a folder", "choose another folder with -o")
    try:
        if not any(destination.iterdir()):
            return
        if not (destination / MANIFEST).exists():
            raise InputError(
                f"{destination} exists and is not a folder that mobius wrote", "choose another folder with -o"
            )
        _check_contents(destination, sources)
    except OSError as error:
        raise InputError(
            f"cannot read what is in {destination}: {error.strerror or error}", "choose another folder with -o"
        ) from error
    if not force:
        raise InputError(f"{destination} exists", "pass --force to replace it, or choose another folder with -o")


def _check_contents(folder: Path, sources: Sequence[Path]) -> None:
    """Refuse if replacing a folder of ours would lose what is not ours."""
    names = _names_in(folder)
    for source in sources:
        for name in names:
            if (folder / name).exists() and source.samefile(folder / name):
                raise InputError(
                    f"{source} is in {folder}, which would be replaced",
                    "choose another folder with -o, or move the file",
                )
    if CARD in names and not is_sealed(folder / CARD):
        raise InputError(
            f"{folder} cannot be replaced: {CARD} in it is not as mobius wrote it",
            "move it elsewhere, or choose another folder with -o",
        )
    ours = _names_written(folder)
    foreign = [name for name in names if not (name in ours if ours else _is_a_name_of_ours(name))]
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise InputError(
            f"{folder} cannot be replaced: mobius did not write {', '.join(foreign[:3])}{more} in it",
            "move them elsewhere, or choose another folder with -o",
        )


def _names_in(folder: Path) -> list[str]:
    """Everything but folders, by its path inside; a link is no folder, whatever it points to."""

    def stop(error: OSError) -> None:
        raise error

    found = []
    for base, folders, files in os.walk(folder, onerror=stop):
        links = [name for name in folders if (Path(base) / name).is_symlink()]
        found += [(Path(base) / name).relative_to(folder).as_posix() for name in (*files, *links)]
    return sorted(found)


def _names_written(folder: Path) -> set[str]:
    """What the folder's manifest says that we wrote; empty if it cannot be read, or not by this version."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError):
        return set()
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        return set()
    files = manifest.get("files")
    return {MANIFEST, *files} if isinstance(files, dict) else set()


def _is_a_name_of_ours(name: str) -> bool:
    path = PurePosixPath(name)
    return name in WRITTEN or (str(path.parent) == WRITTEN_TEMPLATES and path.suffix == ".jinja")


def check_space(destination: Path, weight_bytes: int) -> None:
    """Refuse if a folder with such weights does not fit the disk; it need not exist, nor do those around it.

    Raises:
        MobiusError: no space.
    """
    around = next(path for path in (Path.cwd() / destination).parents if path.is_dir())
    needed, free = weight_bytes + SPARE_BYTES, shutil.disk_usage(around).free
    if free < needed:
        raise _no_space(destination, needed, free)


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


def _move_into_place(work: Path, destination: Path, force: bool) -> None:
    """Rename; an old folder steps aside first and comes back if the new one cannot be put in place."""
    if not destination.exists():
        work.rename(destination)
        return
    check_destination(destination, force)  # again: a conversion takes long enough to put something there
    aside = Path(tempfile.mkdtemp(prefix=f".{destination.name}.old-", dir=destination.parent))
    old = aside / "old"
    try:
        destination.rename(old)
        work.rename(destination)
    except BaseException:  # an interrupt too
        if old.exists() and not destination.exists():
            old.rename(destination)
        with suppress(OSError):
            aside.rmdir()  # not its contents: what could not be put back stays there
        raise
    shutil.rmtree(aside, ignore_errors=True)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """UTF-8, indented, ending in a newline; the same content gives the same bytes."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
