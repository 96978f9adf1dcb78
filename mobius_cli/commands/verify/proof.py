"""The first half of `mobius verify`: the folder beside the file that it was made from, without any engine."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from converters.folder.manifest import MANIFEST, Manifest
from converters.proof.difference import Difference, Findings
from converters.proof.proof import prove
from converters.sources.checkpoint.files import is_checkpoint
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.sources.gguf.file import GgufFile
from converters.sources.source import Source
from mobius_cli.output import BYTES, Output

_SHOWN = 10  # differences


def open_original(path: Path) -> Source:
    """What a folder can be compared with: a GGUF file, or a Hugging Face folder.

    Raises:
        MobiusError: it is neither, or damaged.
    """
    if path.is_dir() and is_checkpoint(path) and not (path / MANIFEST).exists():
        return CheckpointFolder.open(path)
    return GgufFile.open(path)


def prove_folder(folder: Path, original: Path, manifest: Manifest, output: Output, *, weights_only: bool) -> Findings:
    """Compare, and print what was compared and how it differs.

    Raises:
        InputError: the folder or the file cannot be read.
        MobiusError: it is another file.
    """
    with open_original(original) as source:
        with output.progress(f"hashing {original.name}", manifest.source_bytes, BYTES) as advance:
            manifest.require_source(source.files, lambda size: advance(size, ""))
        start = time.perf_counter()
        with output.progress("comparing weights", manifest.source_bytes, BYTES) as advance:
            findings = prove(
                source, folder, manifest, lambda name, size: advance(size, name), weights_only=weights_only
            )
    _print_findings(manifest, findings, time.perf_counter() - start, output)
    return findings


def _print_findings(manifest: Manifest, findings: Findings, seconds: float, output: Output) -> None:
    wrong = {difference.part for difference in findings.differences}
    if "weights" not in wrong:
        exact = all(record.exact for record in manifest.tensors)
        how = "each the source's bit for bit" if exact else "each the source's, rounded as mobius.json says and no more"
        output.words(f"weights: {findings.weights:,} in {findings.tensors:,} tensors, {how} ({seconds:.1f} s)")
    if findings.nodes and not wrong:
        output.words(
            f"graph: {findings.nodes:,} nodes, and {findings.files} files beside it, are what the source makes"
        )
    for note in findings.notes:
        output.words(note)
    for difference in findings.differences[:_SHOWN]:
        output.words(str(difference))
    if len(findings.differences) > _SHOWN:
        output.words(f"and {len(findings.differences) - _SHOWN:,} more (--json has all)")


def conclude(folder: Path, findings: Findings, output: Output) -> bool:
    """The last line, and the JSON object, where no engine was asked; returns whether nothing differs."""
    passed = not findings.differences
    right = "the folder is what its source makes" if findings.nodes else "the folder's weights are the source's"
    summary = right if passed else _summary(findings.differences)
    output.verdict(f"{'PASS' if passed else 'FAIL'}: {summary}")
    verdict = "identical" if passed else "diverged"
    output.result({"folder": str(folder), "verdict": verdict, "passed": passed, "summary": summary,
                   "proof": proof_object(findings)})  # fmt: skip
    return passed


def _summary(differences: Sequence[Difference]) -> str:
    parts = list(dict.fromkeys(difference.part for difference in differences))
    many = "1 difference" if len(differences) == 1 else f"{len(differences):,} differences"
    age = "" if {"weights", "logits"} & set(parts) else "; if another build of mobius wrote it, convert again"
    return f"the folder is not what its source makes, {many} in its {', '.join(parts)}: {differences[0]}{age}"


def proof_object(findings: Findings) -> dict[str, Any]:
    """For JSON."""
    differences = [difference.as_dict() for difference in findings.differences]
    return {**vars(findings), "differences": differences}
