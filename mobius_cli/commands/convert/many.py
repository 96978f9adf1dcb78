"""Several inputs of `mobius convert`: what they are, where each goes, and what came of all."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from converters.folder.manifest import MANIFEST
from converters.sources.gguf.file import GgufFile
from mobius_cli.commands.convert.convert import Request, convert_model
from mobius_cli.errors import Failure, described
from mobius_cli.output import Output
from repack.errors import InputError, MobiusError


@dataclass(frozen=True)
class Job:
    """A model, and the folder that it becomes."""

    model: Path
    folder: Path


def convert_all(models: Sequence[Path], destination: Path | None, request: Request, output: Output) -> int:
    """Convert one model to `destination`, or several to folders in it; returns the exit code.

    Raises:
        InputError: there is nothing to convert, or two would become the same folder.
        MobiusError: of a single model, whatever it is refused for.
    """
    if len(models) == 1 and not _holds_files(models[0]):
        folder = destination or Path(f"{models[0].name.removesuffix('.gguf')}_onnx")
        output.result(convert_model(models[0], folder, request, output))
        return 0
    jobs = plan_jobs(models, destination)
    results, failures = [], []
    for number, job in enumerate(jobs, 1):
        output.note(f"[{number}/{len(jobs)}] {job.model}")
        result, failure = _try(job, replace(request, next_step=False), output)
        results.append({"model": str(job.model), **result})
        if failure is not None:
            failures.append(failure)
    done = "can be converted" if request.dry_run else "converted"
    output.data(f"{len(jobs) - len(failures)} of {len(jobs)} {done}")
    for failure in failures:
        output.data(f"  not {failure.message}")
    output.result({"models": results, "converted": len(jobs) - len(failures), "failed": len(failures)})
    codes = {failure.exit_code for failure in failures}
    return min(codes, default=0)  # a refusal says more than a file that cannot be read


def plan_jobs(models: Sequence[Path], destination: Path | None) -> list[Job]:
    """Each model once, with its folder: NAME_onnx, in `destination`.

    Raises:
        InputError: two would become the same folder, or they would be put into a model folder.
    """
    base = destination or Path()
    if (base / MANIFEST).exists():
        raise InputError(f"{base} is a model folder: several cannot be put into it", "choose another folder with -o")
    jobs: dict[Path, Job] = {}
    folders: dict[str, Path] = {}
    for model in (found for given in models for found in (_files(given) if _holds_files(given) else [given])):
        first, name = _first_and_name(model)
        if first.resolve() in jobs:
            continue  # another part of a split file, or given twice
        folder = base / f"{name}_onnx"
        if (other := folders.setdefault(folder.name.casefold(), first)) is not first:
            raise InputError(f"{other} and {first} would both become {folder}", "convert them one by one")
        jobs[first.resolve()] = Job(first, folder)
    return list(jobs.values())


def _holds_files(path: Path) -> bool:
    """Whether it is a folder of GGUF files, and none of ours."""
    return path.is_dir() and not (path / MANIFEST).exists() and bool(_files(path))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".gguf" and path.is_file())


def _first_and_name(model: Path) -> tuple[Path, str]:
    """The first part of a split file, or the model itself; and the name without part, number and suffix."""
    if model.is_dir():
        return model, model.resolve().name
    try:
        with GgufFile.open(model) as file:
            parts = file.shards
    except MobiusError:
        parts = (model,)  # converting it will say what is wrong
    if len(parts) == 1:
        return model, model.stem if model.suffix.lower() == ".gguf" else model.name
    return parts[0], parts[0].name.rsplit("-", 3)[0]  # NAME-00001-of-00003.gguf


def _try(job: Job, request: Request, output: Output) -> tuple[dict[str, Any], Failure | None]:
    """What is to be said of it in JSON, and why it failed."""
    try:
        return convert_model(job.model, job.folder, request, output), None
    except BrokenPipeError:
        raise
    except Exception as error:  # whatever it is, the others are not to blame
        failure = described(error)
        if not failure.message.startswith(str(job.model)):
            failure = replace(failure, message=f"{job.model}: {failure.message}")
        failure.say()
        return {"error": failure.as_dict()}, failure
