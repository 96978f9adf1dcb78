"""`mobius inspect` of a Hugging Face folder: what it is, and what each tensor would become."""

import math
from pathlib import Path

from converters.sources.checkpoint.folder import CheckpointFolder
from converters.target import Target
from converters.weights.rounding import rounding_lines
from mobius_cli.commands.inspect.file import planned_tensors, try_plan
from mobius_cli.commands.inspect.tables import by_type, each_tensor, print_tensors, print_types
from mobius_cli.output import Output, megabytes


def inspect_checkpoint(folder: Path, target: Target, output: Output, *, every_tensor: bool) -> bool:
    """Print the folder and the plan for it; returns whether it can be converted.

    Raises:
        MobiusError: the folder is damaged, or of a kind that cannot be read.
    """
    with CheckpointFolder.open(folder) as source:
        plan, roundings, reason = try_plan(source, target)
        parameters = sum(math.prod(tensor.shape) for tensor in source.tensors.values())
        architecture = source.metadata["general.architecture"]
        output.data(f"{folder.resolve().name}: {architecture}, {parameters / 1e6:,.1f} M parameters")
        output.data(f"  folder     {folder}, {megabytes(source.size)}, Hugging Face checkpoint")
        tensors = planned_tensors(source, plan)
        types, listed = by_type(tensors), each_tensor(tensors) if every_tensor else None
        print_types(types, "becomes", output)
        if listed is not None:
            print_tensors(listed, "becomes", output)
        weights = plan.data_bytes if plan else None
        if weights is not None:
            output.data(f"predicted: about {megabytes(weights)} of weights (target {target.name} {target.dtype})")
            for line in rounding_lines(roundings) if roundings else []:
                output.data(f"  {line}")
        for warning in plan.warnings if plan else ():
            output.warning(warning)
        if reason is not None:
            output.warning(f"cannot be converted: {reason.message} ({reason.hint})")
        output.result({
            "folder": str(folder), "bytes": source.size, "architecture": architecture, "parameters": parameters,
            "convertible": plan is not None, "reason": reason and reason.message, "types": types,
            "predicted": {"weight_bytes": weights}, "roundings": {kind: vars(r) for kind, r in roundings.items()},
            "warnings": list(plan.warnings) if plan else [], "spec": plan.spec.as_dict() if plan else None,
            **({"tensors": listed} if listed is not None else {}),
        })  # fmt: skip
        return plan is not None
