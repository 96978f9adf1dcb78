"""`mobius convert --to-gguf`: a Hugging Face folder as a GGUF file, for llama.cpp."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from converters.sources.checkpoint.files import is_checkpoint
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.to_gguf.tensors import TYPES
from converters.to_gguf.write import write_gguf
from mobius_cli.output import BYTES, Output, megabytes
from repack.errors import InputError


def to_gguf_file(
    models: Sequence[Path],
    path: Path | None,
    wanted: str | None,
    output: Output,
    *,
    force: bool = False,
    others: Sequence[Any] = (),
) -> None:
    """Write the file and say what it holds.

    Args:
        models: one checkpoint.
        path: the new file.
        wanted: what tensors become that no type of GGUF holds.
        output: where to say it.
        force: an existing file may be replaced.
        others: options that mean nothing here, if they are given.

    Raises:
        InputError: the options contradict each other, or the folder is no checkpoint.
        MobiusError: a tensor has no exact type, or the file cannot be written.
    """
    if path is None or any(others) or len(models) != 1:
        raise InputError("--to-gguf takes one model and the name of a file, without -o and --dry-run",
                         "mobius convert FOLDER --to-gguf FILE")  # fmt: skip
    if wanted is not None and wanted.lower() not in TYPES:
        raise InputError(f"--to-gguf-type {wanted!r} is not known", f"choose one of: {', '.join(TYPES)}")
    if not is_checkpoint(models[0]):
        raise InputError(f"{models[0]} is not a Hugging Face folder", "--to-gguf makes GGUF files of such folders only")
    with CheckpointFolder.open(models[0]) as source:
        with output.progress(f"writing {path.name}", None, BYTES) as advance:
            done = write_gguf(source, path, wanted and wanted.lower(), lambda name, n: advance(n, name), force=force)
        for warning in done.warnings:
            output.warning(warning)
        ratio = f"{done.bytes / source.size:.3f} of the checkpoint's {megabytes(source.size)}"
        output.data(f"{path}: {megabytes(done.bytes)}, {ratio}")
        output.data(f"  {', '.join(f'{count} {kind}' for kind, count in done.types.items())} tensors")
        output.data(f"  {_exactness(done.rounded)}")
        output.result({
            "file": str(path), "bytes": done.bytes, "source_bytes": source.size, "types": done.types,
            "exact": not done.rounded, "rounded": done.rounded, "tokenizer": done.has_tokenizer,
            "warnings": list(done.warnings),
        })  # fmt: skip


def _exactness(rounded: dict[str, float]) -> str:
    if not rounded:
        return "weights: exact, every one equals the checkpoint's bit for bit in float32"
    worst = max(rounded, key=lambda name: rounded[name])
    mean = math.sqrt(sum(error**2 for error in rounded.values()) / len(rounded))
    return (
        f"weights: {len(rounded)} tensors rounded, by {mean:.2g} of their size (root of mean square);"
        f" most {worst}, by {rounded[worst]:.2g}"
    )
