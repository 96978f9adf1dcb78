"""`mobius inspect` of a converted folder: all that its manifest tells, and nothing else is read."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from converters.folder.license import License
from converters.folder.manifest import MANIFEST, Manifest, TargetRecord, read_manifest
from converters.graph.states import State
from converters.weights.records import sum_roundings
from converters.weights.rounding import rounding_lines
from mobius_cli.commands.inspect.tables import Tensor, by_type, each_tensor, print_tensors, print_types
from mobius_cli.output import Output, megabytes


def inspect_folder(folder: Path, output: Output, *, every_tensor: bool) -> None:
    """Print what a folder is.

    Raises:
        InputError: it is not a model folder, is damaged, or of another version.
    """
    manifest = read_manifest(folder)
    size = sum(manifest.files.values()) + (folder / MANIFEST).stat().st_size
    tensors = [
        Tensor(r.name, r.shape, r.source_type, r.source_bytes, r.format, r.stored_bytes) for r in manifest.tensors
    ]
    types, roundings = by_type(tensors), sum_roundings(manifest.tensors)
    _print_facts(folder, manifest, size, output)
    print_types(types, "became", output)
    listed = each_tensor(tensors) if every_tensor else None
    if listed is not None:
        print_tensors(listed, "became", output)
    for line in rounding_lines(roundings):
        output.data(line)
    warnings = [*manifest.warnings, *manifest.tokenizer.warnings]
    for warning in warnings:
        output.warning(warning)
    output.result(
        {
            **_facts(folder, manifest, size),
            "types": types,
            "exact": not any(r.rounded for r in roundings.values()),
            "roundings": {kind: vars(r) for kind, r in roundings.items()},
            "warnings": warnings,
            "spec": manifest.spec,
            **({"tensors": listed} if listed is not None else {}),
        }
    )


def _facts(folder: Path, manifest: Manifest, size: int) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "bytes": size,
        "ratio": round(size / max(1, manifest.source_bytes), 4),
        "name": manifest.name,
        **License.of(manifest.metadata).as_dict(),
        "architecture": manifest.architecture,
        "parameters": _parameters(manifest),
        "source": [asdict(part) for part in manifest.source],
        "target": asdict(manifest.target),
        "states": {
            "count": len(manifest.states),
            "bytes_per_token": _bytes_per_token(manifest),
            "fixed_bytes": manifest.state_bytes(0),
            "in_place": manifest.in_place,
        },
        "tool": asdict(manifest.tool),
        "files": manifest.files,
    }


def _print_facts(folder: Path, manifest: Manifest, size: int, output: Output) -> None:
    output.data(f"{manifest.name}: {manifest.architecture}, {_parameters(manifest) / 1e6:,.1f} M parameters")
    ratio = f"{size / max(1, manifest.source_bytes):.3f} of the file's {megabytes(manifest.source_bytes)}"
    output.data(f"  folder     {folder}, {megabytes(size)}, {ratio}")
    for part in manifest.source:
        output.data(f"  source     {part.file}, {part.bytes:,} bytes, SHA-256 {part.sha256}")
    output.data(f"  license    {License.of(manifest.metadata)}")
    output.data(f"  target     {_target(manifest.target)}")
    output.data(f"  model      vocabulary {manifest.vocab:,}, context {manifest.target.context_length:,}")
    fixed = manifest.state_bytes(0)
    output.data(
        f"  states     {_kinds(manifest.states)}: {_bytes_per_token(manifest):,} bytes per token"
        f"{f', and {fixed:,} bytes' if fixed else ''}, {'in place' if manifest.in_place else 'a new array each run'}"
    )
    tool = manifest.tool
    packages = ", ".join(f"{name} {version}" for name, version in tool.packages.items())
    output.data(f"  written by {tool.name} {tool.version} ({packages})")


def _target(target: TargetRecord) -> str:
    kept = "dequantized" if target.dequantize else f"{target.quant_format}, accuracy level {target.accuracy_level}"
    norms = ", q and k normed by the attention operator" if target.norms_heads else ""
    return f"{target.name} {target.dtype}, storage {target.storage}, {kept}{norms}"


def _kinds(states: Sequence[State]) -> str:
    """How many of each part and type: "30 key, 30 value, float32"."""
    counts = Counter(state.part for state in states)
    parts = ", ".join(f"{count} {part}" for part, count in counts.items())
    return f"{parts}, {'/'.join(dict.fromkeys(state.dtype for state in states))}"


def _bytes_per_token(manifest: Manifest) -> int:
    return manifest.state_bytes(1) - manifest.state_bytes(0)


def _parameters(manifest: Manifest) -> int:
    return sum(math.prod(tensor.shape) for tensor in manifest.tensors)
