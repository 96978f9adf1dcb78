"""Results of `mobius bench` out of files: one object, an array of rows, or a row per line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mobius_cli.commands.compare.run import Run, run_of
from mobius_cli.judging.checked_json import refuse_constant
from repack.errors import InputError

MOST_BYTES = 64 << 20  # of a file; a thousand tests are less than 2 MB
HINT = "give what `mobius bench --json` printed, or its -o FILE.json or FILE.jsonl"


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """What each file holds, in order.

    Raises:
        InputError: fewer than two files, or one that cannot be read or is no such result; it says where.
    """
    if len(paths) < 2:
        raise InputError(f"one file is nothing to compare: {paths[0]}", "give two results of `mobius bench` or more")
    return [run_of(path, _read(path)) for path in paths]


def _read(path: Path) -> Any:
    try:
        with path.open("rb") as stream:
            found = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file", "check the path") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", HINT) from error
    if len(found) > MOST_BYTES:
        raise InputError(f"{path} is larger than {MOST_BYTES >> 20} MiB, no result of `mobius bench` is", HINT)
    if not found.strip():
        raise InputError(f"{path} is empty", HINT)
    try:
        return _values(found.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}", HINT) from error


def _values(text: str) -> Any:
    """One value, or those of the lines. Raises ValueError for anything else, also for NaN and infinities."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        lines = text.splitlines()
        if error.msg != "Extra data" or error.lineno == 1:  # else the first line is JSON alone
            raise
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows += [json.loads(line, parse_constant=refuse_constant)] if line.strip() else []
        except json.JSONDecodeError as error:
            raise ValueError(f"{error.msg} in line {number}, column {error.colno}") from error
    return rows
