"""A comparison as tables of words, as Markdown, as CSV and as an object for JSON."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from mobius_cli.commands.compare.comparison import NONE, Comparison, Line
from mobius_cli.reports.bars import Speed

LEFT_OUT = ("file",)  # of the sentence: a file that is given twice is not what runs share


def shared(found: Comparison) -> str:
    """What all runs share, in one sentence."""
    return "; ".join(f"{term} {value}" for term, value in found.same.items() if term not in LEFT_OUT)


def differences(found: Comparison) -> list[list[str]]:
    """A row for each term in which runs differ, the head first."""
    return [["", *found.labels], *([term, *values] for term, values in found.different.items())]


def speeds(found: Comparison) -> list[list[str]]:
    """A row for each test and engine, the head first: a speed per run, and its ratio to the first run's."""
    base, *others = found.labels
    head = ["tokens/s", base]
    for label in others:
        head += [label, "ratio"]
    return [head, *(_cells(line) for line in found.lines)]


def _cells(line: Line) -> list[str]:
    base, *others = line.speeds
    cells = [line.name, words(base)]
    for speed, ratio in zip(others, line.ratios[1:], strict=True):
        cells += [words(speed), NONE if ratio is None else f"{ratio:.2f}"]
    return cells


def words(speed: Speed | None) -> str:
    """A mean and its deviation."""
    return NONE if speed is None else " ".join(speed.words)


def markdown(found: Comparison) -> str:
    """What is the same, both tables, and the warnings."""
    parts = [escaped(shared(found)), _markdown_table(differences(found)), _markdown_table(speeds(found), right=True)]
    return "\n\n".join([part for part in parts if part] + [f"Warning: {escaped(text)}." for text in found.warnings])


def escaped(text: str) -> str:
    """A text that means itself in Markdown, also in a cell."""
    return "".join(f"\\{c}" if c in "\\`*_[]<>|#" else c for c in text)


def _markdown_table(rows: Sequence[Sequence[str]], right: bool = False) -> str:
    head, *body = ([escaped(cell) for cell in row] for row in rows)
    rule = ["---", *["---:" if right else "---"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))


def as_csv(found: Comparison) -> str:
    """A line for each test, engine and run; empty where nothing was measured."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["file", "test", "n_prompt", "n_gen", "n_depth", "engine", "avg_ts", "stddev_ts", "ratio"])
    for line in found.lines:
        test = [line.test.name, line.test.prompt, line.test.generate, line.test.depth, line.engine]
        for run, speed, ratio in zip(found.runs, line.speeds, line.ratios, strict=True):
            measured = [None, None] if speed is None else [speed.mean, speed.spread]
            writer.writerow([run.path, *test, *measured, ratio])
    return text.getvalue().rstrip("\n")


def as_object(found: Comparison) -> dict[str, Any]:
    """Runs with their facts, and for each test and engine a result per run, null where it was not measured."""
    return {
        "runs": [
            {"file": str(run.path), "label": label, **run.facts}
            for run, label in zip(found.runs, found.labels, strict=True)
        ],
        "tests": [_entry(line) for line in found.lines],
        "warnings": found.warnings,
    }


def _entry(line: Line) -> dict[str, Any]:
    results = [
        None if speed is None else {"avg_ts": speed.mean, "stddev_ts": speed.spread, "ratio": ratio}
        for speed, ratio in zip(line.speeds, line.ratios, strict=True)
    ]
    test = {"n_prompt": line.test.prompt, "n_gen": line.test.generate, "n_depth": line.test.depth}
    return {"test": line.test.name, **test, "engine": line.engine, "results": results}
