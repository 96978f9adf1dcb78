"""`mobius convert --dry-run`: what would be written, as `mobius inspect` shows it, and whether it would be."""

from pathlib import Path
from typing import Any

from converters.folder.writer import check_space
from converters.plan import Plan, measure_roundings
from converters.sources.gguf.file import GgufFile
from converters.weights.rounding import rounding_lines
from mobius_cli.commands.inspect.file import planned_tensors, show_file
from mobius_cli.commands.inspect.tables import by_type, print_types
from mobius_cli.output import Output, megabytes


def show_plan(plan: Plan, destination: Path, output: Output) -> dict[str, Any]:
    """Print the plan; returns it for JSON.

    Raises:
        MobiusError: converting would be refused: for the tokenizer, the space on the disk, a number that does not fit.
    """
    check_space(destination, plan.data_bytes)
    tokens = plan.source.tokenizer()
    roundings = measure_roundings(plan) if plan.target.dtype != "float32" else {}
    if isinstance(plan.source, GgufFile):
        shown = show_file(plan.source, plan.target, plan, roundings, None, output)
    else:
        types = by_type(planned_tensors(plan.source, plan))
        print_types(types, "becomes", output)
        size = f"about {megabytes(plan.data_bytes)} of weights"
        output.data(f"predicted: {size} (target {plan.target.name} {plan.target.dtype}, storage {plan.target.storage})")
        for line in rounding_lines(roundings) if roundings else []:
            output.data(f"  {line}")
        shown = {
            "types": types, "predicted": {"weight_bytes": plan.data_bytes},
            "roundings": {kind: vars(r) for kind, r in roundings.items()}, "warnings": list(plan.warnings),
        }  # fmt: skip
        for warning in plan.warnings:
            output.warning(warning)
    for warning in tokens.warnings:
        output.warning(warning)
    output.data(f"nothing is written: it would be {destination}")
    return {**shown, "warnings": [*plan.warnings, *tokens.warnings], "folder": str(destination), "dry_run": True}
