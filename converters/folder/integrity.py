"""Whether the files of a folder still are those that were written: by their hashes, without the source."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from converters.folder.manifest import MANIFEST, Manifest
from converters.folder.seal import CARD
from converters.folder.source_file import sha256_of
from converters.folder.writer import files_in

HASHES = "hashes"
OnFile = Callable[[str, int], None]


def with_own_hash(content: dict[str, Any]) -> dict[str, Any]:
    """What a manifest's file holds: its `hashes` have one of all the rest of it, too."""
    return {**content, HASHES: {**content[HASHES], MANIFEST: _hash_of_rest(content)}}


def changed_files(folder: Path, manifest: Manifest, on_file: OnFile) -> tuple[dict[str, str], list[str]]:
    """Files that are not as they were written, and why; and remarks on what people may change.

    Args:
        folder: the folder.
        manifest: its own.
        on_file: told of each file, and of each piece of it that was read.
    """
    changed, notes = dict[str, str](), list[str]()
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    if manifest.hashes.get(MANIFEST) != _hash_of_rest(content):
        changed[MANIFEST] = "is not as it was written"
    for name in manifest.files:
        known, path = manifest.hashes.get(name), folder / name
        if name == CARD and not path.exists():
            notes.append(f"{name} was taken away")
        elif known is None:
            changed[name] = f"has no hash in {MANIFEST}"
        elif sha256_of(path, lambda size, name=name: on_file(name, size)) != known:  # type: ignore[misc]
            if name == CARD:
                notes.append(f"{name} was changed")
            else:
                changed[name] = "is not as it was written"
    ours = {MANIFEST, *manifest.files}
    foreign = [name for path in files_in(folder) if (name := path.relative_to(folder).as_posix()) not in ours]
    notes += [f"{name} is none of the folder's files" for name in foreign]
    return changed, notes


def _hash_of_rest(content: dict[str, Any]) -> str:
    others = {name: value for name, value in content[HASHES].items() if name != MANIFEST}
    return hashlib.sha256(json.dumps({**content, HASHES: others}, sort_keys=True).encode()).hexdigest()
