"""`mobius inspect`: what a file is and would become, or what a converted folder is."""

from dataclasses import asdict, dataclass
from pathlib import Path

from mobius_cli.options import wanted_target
from mobius_cli.output import Output
from repack.errors import InputError


@dataclass(frozen=True)
class Choices:
    """What the user wants of a conversion, and says of a file only; None or False where nothing was said."""

    ep: str | None = None
    dtype: str | None = None
    storage: str | None = None
    dequantize: bool = False
    quant_format: str | None = None


def inspect_model(model: Path, choices: Choices, output: Output, *, every_tensor: bool) -> bool:
    """Print what a file or a folder is; returns whether it can be converted.

    Raises:
        InputError: it is missing, damaged, or neither; a folder is asked what it would become; no such target.
    """
    if not _is_model_folder(model):
        from converters.sources.checkpoint.files import is_checkpoint
        from mobius_cli.commands.inspect.file import inspect_file

        target = wanted_target(**{**asdict(choices), "storage": choices.storage or "fast"})
        if is_checkpoint(model):
            from mobius_cli.commands.inspect.checkpoint import inspect_checkpoint

            return inspect_checkpoint(model, target, output, every_tensor=every_tensor)
        return inspect_file(model, target, output, every_tensor=every_tensor)
    from mobius_cli.commands.inspect.folder import inspect_folder

    given = [f"--{name.replace('_', '-')}" for name, value in asdict(choices).items() if value]
    if given:
        raise InputError(
            f"{model} is converted already: {', '.join(given)} cannot be answered by it",
            "leave out what a conversion would take, or give the GGUF file",
        )
    inspect_folder(model, output, every_tensor=every_tensor)
    return True


def _is_model_folder(path: Path) -> bool:
    """A folder, unless it is a checkpoint, or one of GGUF files, of which one must be chosen."""
    if not path.is_dir():
        return False
    from converters.folder.manifest import MANIFEST
    from converters.sources.checkpoint.files import is_checkpoint

    return (path / MANIFEST).exists() or not (is_checkpoint(path) or any(path.glob("*.gguf")))
