"""`mobius convert`: run the pipeline and say what came of it."""

from collections.abc import Sequence
from pathlib import Path

from converters.folder.writer import DATA, MODEL, check_destination, files_in
from converters.pipeline import Result, convert
from converters.plan import make_plan
from converters.sources.gguf.file import GgufFile
from converters.sources.onnx_folder.folder import OnnxFolder
from converters.sources.open import open_source
from converters.sources.source import Source
from converters.tokenizer.stored import TOKENIZER
from mobius_cli.options import wanted_target
from mobius_cli.output import BYTES, Output, megabytes, rounding_lines

LARGE = 1.25  # times the GGUF's size, from where the other storage is worth a hint


def convert_model(
    model: Path,
    destination: Path | None,
    output: Output,
    *,
    ep: str | None,
    dtype: str | None,
    storage: str | None,
    accuracy_level: int | None,
    dequantize: bool,
    quant_format: str | None,
    context_length: int | None,
    force: bool,
) -> None:
    """Convert and print a summary.

    Raises:
        MobiusError: see `converters.plan.make_plan` and `converters.pipeline.convert`.
    """
    target = wanted_target(
        ep, dtype=dtype, storage=storage or "fast", accuracy_level=accuracy_level, dequantize=dequantize,
        quant_format=quant_format,
    )  # fmt: skip
    destination = destination or Path(f"{model.name.removesuffix('.gguf')}_onnx")
    check_destination(destination, force, (model,) if model.is_file() else ())  # at once; below, with all of its parts
    with open_source(model) as source:
        check_destination(destination, force, _files_of(source, destination))
        plan = make_plan(source, target, context_length)
        first = f"hashing {model.name}, making the tokenizer"
        with output.progress("writing", plan.data_bytes, BYTES, before=first) as advance:
            result = convert(plan, destination, force=force, on_tensor=lambda name, size: advance(size, name))
        _summarize(result, output, plan.target.name, plan.target.storage)
        output.result(
            {
                "folder": str(result.folder),
                "files": result.files,
                "source_bytes": result.source_bytes,
                "model_bytes": result.model_bytes,
                "folder_bytes": sum(result.files.values()),
                "ratio": round(sum(result.files.values()) / result.source_bytes, 4),
                "exact": result.exact,
                "roundings": {k: vars(r) for k, r in result.roundings.items()},
                "warnings": list(result.warnings),
            }
        )


def _files_of(source: Source, destination: Path) -> Sequence[Path]:
    """Files that must outlive the old folder; not those of a folder rewritten onto itself, mapped until then."""
    if isinstance(source, GgufFile):
        return source.shards
    if not isinstance(source, OnnxFolder) or (destination.exists() and source.folder.samefile(destination)):
        return ()
    return files_in(source.folder)


def _summarize(result: Result, output: Output, target: str, storage: str) -> None:
    for warning in result.warnings:
        output.warning(warning)
    total = sum(result.files.values())
    output.data(
        f"{result.folder}: {megabytes(total)}, {total / result.source_bytes:.3f} of the GGUF's"
        f" {megabytes(result.source_bytes)} (target {target}, storage {storage})"
    )
    others = total - result.model_bytes
    output.data(f"  {MODEL} + {DATA} {megabytes(result.model_bytes)}, tokenizer and configs {megabytes(others)}")
    for line in rounding_lines(result.roundings):
        output.data(f"  {line}")
    if storage == "fast" and result.model_bytes > LARGE * result.source_bytes:
        output.note("hint: --storage small keeps the folder at about the file's size, and loads slower")
    takes_text = TOKENIZER in result.files
    output.data(f"next: mobius run {result.folder} -p 'Hello'" if takes_text else f"next: mobius bench {result.folder}")
