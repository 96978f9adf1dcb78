"""One result of `mobius bench` as `compare` needs it, checked in every value."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converters.checked import each, number, typed
from mobius_cli.commands.bench.rows import Workload
from mobius_cli.reports.bars import Speed
from mobius_cli.reports.pages import plain
from repack.errors import InputError

LARGEST = 1e12  # of speeds, and of numbers of tokens, bytes and parameters: none is near
HINT = "measure it with this version's `mobius bench --json`"
Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Measured:
    """One test: the speeds of ONNX Runtime and (or None) llama.cpp, and which of them were noisy."""

    ours: Speed
    theirs: Speed | None
    noisy: str


@dataclass(frozen=True)
class Run:
    """All of one file.

    Attributes:
        path: of the file, as it was given.
        facts: what is the same in every row, under the names of `mobius bench`.
        samples: of each test.
        begun: when the first test began, UTC.
        tests: in the order of the file.
    """

    path: Path
    facts: Mapping[str, Any]
    samples: int
    begun: str
    tests: Mapping[Workload, Measured]


def run_of(path: Path, found: Any) -> Run:
    """A run from the JSON of its file: an object with "tests", or rows that each hold all facts.

    Raises:
        InputError: a value that is missing, or not what it must be; it says which.
    """
    try:
        if isinstance(found, dict) and "tests" in found:
            facts, rows = _entries(found, FACTS, ""), typed(found["tests"], list)
        else:
            rows = found if isinstance(found, list) else [typed(found, dict)]
            facts = _shared(rows)
        if not rows:
            raise ValueError("it has no tests")
        tests = [_entries(typed(row, dict), ROW, f"test {place}: ") for place, row in enumerate(rows, 1)]
        measured = _measured(tests)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} is no result of `mobius bench`: {error}", HINT) from error
    return Run(path, facts, len(tests[0]["samples_ts"]), tests[0]["test_time"], measured)


def _shared(rows: list[Any]) -> dict[str, Any]:
    """The facts that all rows repeat. Raises ValueError where they do not: the rows of several runs."""
    found = [_entries(typed(row, dict), FACTS, f"test {place}: ") for place, row in enumerate(rows, 1)]
    for place, facts in enumerate(found, 1):
        for key, value in facts.items():
            if value != found[0][key]:
                raise ValueError(f"test {place} is of another run than test 1: its {key} is {value!r:.60}")
    return found[0] if found else {}


def _entries(given: Mapping[str, Any], wanted: Mapping[str, Read], where: str) -> dict[str, Any]:
    """The wanted entries, read. Raises ValueError, which names the entry."""
    found = {}
    for key, read in wanted.items():
        if key not in given:
            raise ValueError(f"{where}{key} is missing")
        try:
            found[key] = read(given[key])
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"{where}{key}: {error}") from error
    return found


def _measured(tests: list[dict[str, Any]]) -> dict[Workload, Measured]:
    found: dict[Workload, Measured] = {}
    for place, entry in enumerate(tests, 1):
        test = Workload(entry["n_prompt"], entry["n_gen"], entry["n_depth"])
        if bool(test.prompt) == bool(test.generate):
            raise ValueError(f"test {place}: either n_prompt or n_gen must be more than 0")
        if test in found:
            raise ValueError(f"test {place}: {test.name} is there twice")
        theirs = (entry["llama_cpp_avg_ts"], entry["llama_cpp_stddev_ts"])
        if (theirs[0] is None) != (theirs[1] is None):
            raise ValueError(f"test {place}: one of llama_cpp_avg_ts and llama_cpp_stddev_ts is null")
        ours = Speed(entry["avg_ts"], entry["stddev_ts"])
        found[test] = Measured(ours, None if theirs[0] is None else Speed(*theirs), entry["noisy"])
    return found


def _text(value: Any) -> str:
    return plain(typed(value, str))


def _count(value: Any) -> int:
    if not 0 <= typed(value, int) <= LARGEST:
        raise ValueError(f"{value!r:.40} is not from 0 to {LARGEST:.0e}")
    return int(value)


def _amount(value: Any) -> float:
    found = number(value)
    if not (math.isfinite(found) and 0 <= found <= LARGEST):
        raise ValueError(f"{found!r:.40} is not from 0 to {LARGEST:.0e}")
    return found


def _speed(value: Any) -> float:
    if (found := _amount(value)) == 0:
        raise ValueError("a speed of 0")
    return found


def _samples(value: Any) -> tuple[float, ...]:
    if not (found := each(value, float)):
        raise ValueError("there is no sample")
    return found


def _or_none(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


FACTS: Mapping[str, Read] = {
    **dict.fromkeys(("command", "model_name", "model_filename", "model_type", "backend", "cpu_info"), _text),
    **dict.fromkeys(("mobius", "onnxruntime"), _text),
    **dict.fromkeys(("gpu_info", "llama_cpp", "llama_cpp_engine"), _or_none(_text)),
    **dict.fromkeys(("model_size", "model_n_params", "n_threads"), _count),
    "load_s": _amount,
    **dict.fromkeys(("peak_host_mb", "peak_device_mb"), _or_none(_amount)),
}
ROW: Mapping[str, Read] = {
    **dict.fromkeys(("n_prompt", "n_gen", "n_depth"), _count),
    **dict.fromkeys(("noisy", "test_time"), _text),
    "avg_ts": _speed,
    "stddev_ts": _amount,
    "llama_cpp_avg_ts": _or_none(_speed),
    "llama_cpp_stddev_ts": _or_none(_amount),
    "samples_ts": _samples,
}
