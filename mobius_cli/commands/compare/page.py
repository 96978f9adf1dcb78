"""A comparison as one HTML page that needs nothing else: what is the same, each run, bars, the table."""

from collections.abc import Sequence
from typing import Any

from mobius_cli.commands.bench.page import PANELS, panel_of
from mobius_cli.commands.compare.comparison import ENGINES, NONE, Comparison, Line
from mobius_cli.reports.bars import Bar, longest
from mobius_cli.reports.pages import render

LONGEST_HEADING = 60  # characters


def page(found: Comparison) -> str:
    """The whole page."""
    same = found.same
    same.pop("file", None)  # one that is given twice
    name, kind = same.pop("model", ""), same.pop("type", "")
    heading = name or _names([run.facts["model_name"] for run in found.runs])
    return render(
        "commands/compare/page.html",
        title=f"{heading}: {len(found.runs)} runs of mobius bench compared",
        heading=heading,
        kind=kind,
        same=same,
        cards=_cards(found),
        base=found.labels[0],
        labels=found.labels,
        panels=_panels(found),
        rows=[_row(line) for line in found.lines],
        beside=any(line.engine == ENGINES[1] for line in found.lines),
        warnings=found.warnings,
    )


def _names(models: Sequence[str]) -> str:
    """Those of different models, as far as a heading can have them."""
    both = " and ".join(dict.fromkeys(models))
    return both if len(both) <= LONGEST_HEADING else f"{len(set(models))} models"


def _cards(found: Comparison) -> list[dict[str, Any]]:
    """Each run: its label, its command line, and what differs."""
    return [
        {
            "label": label,
            "command": run.facts["command"],
            "terms": {term: values[place] for term, values in found.different.items() if values[place] != NONE},
        }
        for place, (run, label) in enumerate(zip(found.runs, found.labels, strict=True))
    ]


def _panels(found: Comparison) -> list[dict[str, Any]]:
    theirs = {line.test: line for line in found.lines if line.engine == ENGINES[1]}
    panels = []
    for title in PANELS:
        tests = [line for line in found.lines if line.engine == ENGINES[0] and panel_of(line.test.generate) == title]
        if tests:
            lines = [*tests, *(theirs[line.test] for line in tests if line.test in theirs)]
            end = longest(speed for line in lines for speed in line.speeds)
            bars = [_bars(line, theirs.get(line.test), found.labels, end) for line in tests]
            panels.append({"title": title, "tests": [(t.test.name, b) for t, b in zip(tests, bars, strict=True)]})
    return panels


def _bars(line: Line, theirs: Line | None, labels: Sequence[str], end: float) -> list[dict[str, Any]]:
    """A bar of each run, with llama.cpp's mean in the same run as a mark on it."""
    marks = theirs.speeds if theirs else [None] * len(labels)
    return [
        {
            "who": label,
            "class": "first" if place == 0 else "ours",
            "speed": speed,
            "bar": speed and Bar.of(speed, end),
            "ratio": "" if place == 0 or ratio is None else f"{ratio:.2f} ×",
            "mark": mark and Bar.of(mark, end),
        }
        for place, (label, speed, ratio, mark) in enumerate(zip(labels, line.speeds, line.ratios, marks, strict=True))
    ]


def _row(line: Line) -> dict[str, Any]:
    ratios = [NONE if ratio is None else f"{ratio:.2f}" for ratio in line.ratios]
    return {"name": line.name, "base": line.speeds[0], "others": list(zip(line.speeds[1:], ratios[1:], strict=True))}
