"""Results of `mobius bench` as one SVG picture that stands alone: a group of bars per test."""

from collections.abc import Sequence
from html import escape
from typing import Any

from mobius_cli.commands.bench.page import PANELS, panel_of
from mobius_cli.commands.bench.rows import Row, of_samples
from mobius_cli.commands.bench.table import count, size, speed
from mobius_cli.reports.bars import Bar, longest
from mobius_cli.table import shortened

WIDTH, LEFT, BARS = 860, 130, 500  # of the picture, left of the bars, of the longest bar; in pixels
BAR, GAP, TOP = 18, 12, 62  # height of a bar, space between tests, height of the heading
ENGINES = (("ONNX Runtime", "#1763c7"), ("llama.cpp", "#b4530e"))
TITLE, LINE = 48, 125  # characters that fit the width


def subtitle(facts: dict[str, Any]) -> str:
    """Model, machine and versions, in one line."""
    model = f"{facts['model_type']}, {size(facts['model_size'])}, {count(facts['model_n_params'])} parameters"
    where = facts["gpu_info"] or f"{facts['n_threads']} threads"
    theirs = f", llama.cpp {facts['llama_cpp']}" if facts["llama_cpp"] else ""
    return f"{model}, {facts['backend']}, {where}, onnxruntime {facts['onnxruntime']}{theirs}"


def picture(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """The SVG; bars are means, their whiskers one standard deviation to each side, longer is faster."""
    engines = ENGINES if facts["llama_cpp"] else ENGINES[:1]
    parts, y = _heading(facts, engines), TOP
    for panel in PANELS:
        tests = [row for row in rows if panel_of(row.test.generate) == panel]
        if not tests:
            continue
        end = longest(of_samples(s) for row in tests for s in (row.ours, row.theirs))
        parts.append(_text(20, y + 14, f"{panel}, tokens/s", "font-weight='bold'"))
        y += 26
        for row in tests:
            parts.append(_text(LEFT - 10, y + BAR * len(engines) // 2 + 5, row.test.name, "text-anchor='end'"))
            for (name, color), samples in zip(engines, (row.ours, row.theirs), strict=False):
                parts += _bar(y, samples, end, color, f"{row.test.name}, {name}: {speed(samples)} tokens/s")
                y += BAR
            y += GAP
        y += GAP
    begin = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {y}' width='{WIDTH}' height='{y}' role='img' "
        "font-family='system-ui, sans-serif' font-size='13' fill='#1c2026'>"
    )
    return "\n".join([begin, f"<rect width='{WIDTH}' height='{y}' fill='#ffffff'/>", *parts, "</svg>"])


def _heading(facts: dict[str, Any], engines: Sequence[tuple[str, str]]) -> list[str]:
    parts = [f"<title>{escape(facts['model_name'])}: tokens per second</title>"]
    parts.append(_text(20, 24, shortened(facts["model_name"], TITLE), "font-size='16' font-weight='bold'"))
    for place, (name, color) in enumerate(engines):
        x = WIDTH - 130 * (len(engines) - place)
        parts += [f"<rect x='{x}' y='13' width='12' height='12' fill='{color}'/>", _text(x + 18, 24, name)]
    return [*parts, _text(20, 44, shortened(subtitle(facts), LINE), "font-size='12' fill='#56606b'")]


def _bar(y: int, samples: Sequence[float], end: float, color: str, tip: str) -> list[str]:
    if (found := of_samples(samples)) is None:
        return [_text(LEFT + 6, y + 13, "not measured", "font-size='12' fill='#56606b'")]
    bar = Bar.of(found, end)
    width, low, high = (BARS * percent / 100 for percent in (bar.width, bar.low, bar.high))
    middle = y + BAR / 2 - 1
    ends = f"x1='{LEFT + low:.1f}' x2='{LEFT + high:.1f}' y1='{middle}' y2='{middle}'"
    return [
        f"<rect x='{LEFT}' y='{y}' width='{width:.1f}' height='{BAR - 2}' fill='{color}'>",
        f"<title>{escape(tip)}</title></rect>",
        f"<line {ends} stroke='#ffffff' stroke-width='4'/>",  # so that it is seen on the bar too
        f"<line {ends} stroke='#1c2026' stroke-width='1.5'/>",
        _text(LEFT + high + 8, y + 13, speed(samples), "font-size='12'"),
    ]


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(words)}</text>"
