"""Results of `mobius bench` as one HTML page that needs nothing else: circumstances, bars, the table, the method."""

from collections.abc import Sequence
from typing import Any

from mobius_cli.commands.bench.circumstances import circumstances
from mobius_cli.commands.bench.rows import NOISY, Row, of_samples
from mobius_cli.reports.bars import Bar, figures, longest
from mobius_cli.reports.pages import render

ENGINES = (("ONNX Runtime", "ours"), ("llama.cpp", "theirs"))  # name, class of the style
PANELS = ("Prompt processing", "Generation")  # each with a scale of its own


def page(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """The whole page."""
    engines = ENGINES if facts["llama_cpp"] else ENGINES[:1]
    terms = circumstances(facts, len(rows[0].ours), rows[0].test_time)
    name, kind = terms.pop("model"), terms.pop("type")
    return render(
        "commands/bench/page.html",
        title=f"{name}, {kind}: mobius bench",
        name=name,
        kind=kind,
        command=facts["command"],
        circumstances=terms,
        engines=engines,
        panels=_panels(rows, engines),
        table=_table(rows, engines),
        beside=len(engines) > 1,
        first_token=any(row.ttft_ms is not None for row in rows),
        noise="; ".join(f"{row.test.name} ({', '.join(row.noisy)})" for row in rows if row.noisy),
        limit=f"{NOISY:.0%}",
    )


def panel_of(generate: int) -> str:
    """The panel in which a test stands."""
    return PANELS[bool(generate)]


def _panels(rows: Sequence[Row], engines: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    panels = []
    for title in PANELS:
        tests = [row for row in rows if panel_of(row.test.generate) == title]
        speeds = [[of_samples(row.ours), of_samples(row.theirs)][: len(engines)] for row in tests]
        if not tests:
            continue
        end = longest(speed for pair in speeds for speed in pair)
        bars = [
            [(*engine, speed, speed and Bar.of(speed, end)) for engine, speed in zip(engines, pair, strict=True)]
            for pair in speeds
        ]
        named = [
            {"name": row.test.name, "ratio": _ratio(row), "bars": found} for row, found in zip(tests, bars, strict=True)
        ]
        panels.append({"title": title, "tests": named})
    return panels


def _table(rows: Sequence[Row], engines: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {
            "name": row.test.name,
            "speeds": [of_samples(row.ours), of_samples(row.theirs)][: len(engines)],
            "ratio": _ratio(row) or "–",
            "ttft": "–" if row.ttft_ms is None else figures(row.ttft_ms, row.ttft_ms),
        }
        for row in rows
    ]


def _ratio(row: Row) -> str:
    return "" if row.ratio is None else f"{row.ratio:.2f}"
