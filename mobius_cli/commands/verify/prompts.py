"""The prompts that `verify` decodes when none are given, and how given ones are read."""

from importlib.resources import files
from pathlib import Path

from repack.errors import InputError


def load_prompts(prompt: list[str] | None = None, prompt_file: Path | None = None) -> list[str]:
    """Prompts in the order given: those of `prompt`, then the lines of `prompt_file`; else the 8 default ones.

    A file holds one prompt per line, UTF-8; empty lines are skipped, nothing is unescaped or stripped.
    Raises InputError if the file cannot be read, or if what was given holds no prompt at all.
    """
    if prompt is None and prompt_file is None:
        return _lines(files("mobius_cli").joinpath("prompts/default.txt").read_text(encoding="utf-8"))
    given = [text for text in prompt or [] if text.strip()]
    if prompt_file is not None:
        given += _lines(_read(prompt_file))
    if not given:
        where = f"{prompt_file} has no prompt" if prompt_file is not None else "the prompt is empty"
        raise InputError(where, "Give at least one prompt; a prompt file holds one per line.")
    return given


def _lines(text: str) -> list[str]:
    # Not splitlines(): that also splits at form feeds and U+2028, which a prompt may contain.
    return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot read it ({error.strerror})", "Check the path.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text", "Save the prompt file as UTF-8.") from error
