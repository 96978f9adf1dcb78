"""`mobius verify --integrity`: a folder's files by the hashes in its manifest, without the source."""

from pathlib import Path

from converters.folder.integrity import changed_files
from converters.folder.manifest import read_manifest
from mobius_cli.output import BYTES, Output
from repack.errors import MobiusError


def check_integrity(folder: Path, output: Output) -> bool:
    """Hash every file, and print which are not as they were written; returns whether all are.

    Raises:
        InputError: the folder lost a file, or one has another size.
        MobiusError: a version that kept no hashes wrote it.
    """
    manifest = read_manifest(folder)
    if not manifest.hashes:
        tool = manifest.tool
        raise MobiusError(
            f"{folder} has no hashes of its files: {tool.name} {tool.version} kept none",
            "compare it with its file: mobius verify FOLDER FILE --weights-only",
        )
    total = sum(manifest.files.values())
    with output.progress(f"hashing {folder.name}", total, BYTES) as advance:
        changed, notes = changed_files(folder, manifest, lambda name, size: advance(size, name))
    for note in notes:
        output.words(note)
    for name, reason in changed.items():
        output.words(f"{name}: {reason}")
    count = len(manifest.files) + 1
    summary = f"{count} files, {total:,} bytes, are as they were written"
    if changed:
        summary = f"{len(changed)} of {count} files are not as they were written: {', '.join(changed)}"
    output.verdict(f"{'FAIL' if changed else 'PASS'}: {summary}")
    output.result({"folder": str(folder), "verdict": "diverged" if changed else "identical", "passed": not changed,
                   "summary": summary, "files": count, "bytes": total, "changed": changed, "notes": notes})  # fmt: skip
    return not changed
