"""`mobius convert`: run the pipeline and say what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converters.folder.license import License
from converters.folder.writer import check_destination, files_in
from converters.pipeline import Result, convert, work_bytes
from converters.plan import Plan, make_plan
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.sources.gguf.file import GgufFile
from converters.sources.onnx_folder.folder import OnnxFolder
from converters.sources.open import open_source
from converters.sources.source import Source
from converters.target import Target
from converters.tokenizer.stored import TOKENIZER
from converters.weights.rounding import rounding_lines
from mobius_cli.output import BYTES, Output, megabytes

LARGE = 1.25  # times the GGUF's size, from where the other storage is worth a hint


@dataclass(frozen=True)
class Request:
    """What the user asked for, whatever the model; `next_step`: say what can be done with the folder."""

    target: Target
    context_length: int | None = None
    force: bool = False
    dry_run: bool = False
    layout: str = "flat"
    next_step: bool = True


def convert_model(model: Path, destination: Path, request: Request, output: Output) -> dict[str, Any]:
    """Convert and print a summary, which is returned for JSON; or print the plan and write nothing.

    Raises:
        MobiusError: see `converters.plan.make_plan` and `converters.pipeline.convert`.
    """
    force = request.force
    check_destination(destination, force, (model,) if model.is_file() else ())  # at once; below, with all of its parts
    with open_source(model) as source:
        check_destination(destination, force, _files_of(source, destination))
        plan = make_plan(source, request.target, request.context_length, request.layout)
        if request.dry_run:
            from mobius_cli.commands.convert.dry_run import show_plan

            return show_plan(plan, destination, output)
        with output.progress("", work_bytes(plan), BYTES) as advance:
            result = convert(plan, destination, force=force, on_progress=lambda what, size: advance(size, what))
        license = License.of(source.metadata)
        _summarize(result, output, plan, license)
        if request.next_step:
            next_step = f"run {result.folder} -p 'Hello'" if TOKENIZER in result.files else f"bench {result.folder}"
            output.data(f"next: mobius {next_step}")
        return {
            "folder": str(result.folder),
            "files": result.files,
            "source_bytes": result.source_bytes,
            "model_bytes": result.model_bytes,
            "folder_bytes": sum(result.files.values()),
            "ratio": round(sum(result.files.values()) / result.source_bytes, 4),
            "exact": result.exact,
            "roundings": {k: vars(r) for k, r in result.roundings.items()},
            **license.as_dict(),
            "warnings": list(result.warnings),
        }


def _files_of(source: Source, destination: Path) -> Sequence[Path]:
    """Files that must outlive the old folder; not those of a folder rewritten onto itself, mapped until then."""
    if isinstance(source, GgufFile):
        return source.shards
    if isinstance(source, CheckpointFolder):
        return source.files
    if not isinstance(source, OnnxFolder) or (destination.exists() and source.folder.samefile(destination)):
        return ()
    return files_in(source.folder)


def _summarize(result: Result, output: Output, plan: Plan, license: License) -> None:
    target, storage = plan.target.name, plan.target.storage
    for warning in result.warnings:
        output.warning(warning)
    total = sum(result.files.values())
    output.data(
        f"{result.folder}: {megabytes(total)}, {total / result.source_bytes:.3f} of the {plan.source.kind}'s"
        f" {megabytes(result.source_bytes)} (target {target}, storage {storage})"
    )
    others = total - result.model_bytes
    graph = f"{result.graph.model} + {Path(result.graph.data).name}"
    output.data(f"  {graph} {megabytes(result.model_bytes)}, tokenizer and configs {megabytes(others)}")
    for line in rounding_lines(result.roundings):
        output.data(f"  {line}")
    output.data(f"  license: {license}")
    if plan.source.has_blocks and storage == "fast" and result.model_bytes > LARGE * result.source_bytes:
        output.note("hint: --storage small keeps the folder at about the file's size, and loads slower")
