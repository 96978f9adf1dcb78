"""Results of `mobius bench` as one SVG picture that stands alone: a group of bars per test."""

import statistics
from collections.abc import Sequence
from html import escape
from typing import Any

from mobius_cli.commands.bench.rows import Row, spread
from mobius_cli.commands.bench.table import count, size, speed

WIDTH, LEFT, BARS = 860, 130, 500  # of the picture, left of the bars, of the longest bar; in pixels
BAR, GAP, TOP = 18, 12, 62  # height of a bar, space between tests, height of the heading
ENGINES = (("ONNX Runtime", "#1f6feb"), ("llama.cpp", "#d4722a"))
PANELS = ("prompt processing, tokens/s", "generation, tokens/s")  # each with a scale of its own


def subtitle(facts: dict[str, Any]) -> str:
    """Model, machine and versions, in one line."""
    model = f"{size(facts['model_size'])}, {count(facts['model_n_params'])} parameters, {facts['backend']}"
    where = facts["gpu_info"] or f"{facts['n_threads']} threads"
    theirs = f", llama.cpp {facts['llama_cpp']}" if facts["llama_cpp"] else ""
    return f"{model}, {where}, onnxruntime {facts['onnxruntime']}{theirs}"


def picture(rows: Sequence[Row], facts: dict[str, Any]) -> str:
    """The SVG; bars are means, their whiskers one standard deviation to each side, longer is faster."""
    engines = ENGINES if facts["llama_cpp"] else ENGINES[:1]
    parts, y = _heading(facts, engines), TOP
    for panel in (0, 1):
        tests = [row for row in rows if bool(row.test.generate) == bool(panel)]
        if not tests:
            continue
        longest = max(statistics.mean(s) + spread(s) for row in tests for s in (row.ours, row.theirs) if s)
        parts.append(_text(20, y + 14, PANELS[panel], "font-weight='bold'"))
        y += 26
        for row in tests:
            parts.append(_text(LEFT - 10, y + BAR * len(engines) // 2 + 5, row.test.name, "text-anchor='end'"))
            for (name, color), samples in zip(engines, (row.ours, row.theirs), strict=False):
                parts += _bar(y, samples, longest, color, f"{row.test.name}, {name}: {speed(samples)} tokens/s")
                y += BAR
            y += GAP
        y += GAP
    begin = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {y}' width='{WIDTH}' height='{y}' role='img' "
        "font-family='system-ui, sans-serif' font-size='13' fill='#1f2328'>"
    )
    return "\n".join([begin, f"<rect width='{WIDTH}' height='{y}' fill='#ffffff'/>", *parts, "</svg>"])


def _heading(facts: dict[str, Any], engines: Sequence[tuple[str, str]]) -> list[str]:
    parts = [f"<title>{escape(facts['model_type'])}: tokens per second</title>"]
    parts.append(_text(20, 24, facts["model_type"], "font-size='16' font-weight='bold'"))
    for place, (name, color) in enumerate(engines):
        x = WIDTH - 130 * (len(engines) - place)
        parts += [f"<rect x='{x}' y='13' width='12' height='12' fill='{color}'/>", _text(x + 18, 24, name)]
    return [*parts, _text(20, 44, subtitle(facts), "font-size='11' fill='#59636e'")]


def _bar(y: int, samples: Sequence[float], longest: float, color: str, tip: str) -> list[str]:
    if not samples:
        return [_text(LEFT + 6, y + 13, "not measured", "font-size='11' fill='#59636e'")]
    scale = BARS / longest
    width, wide = statistics.mean(samples) * scale, spread(samples) * scale
    middle = y + BAR / 2 - 1
    bar = f"<rect x='{LEFT}' y='{y}' width='{width:.1f}' height='{BAR - 2}' fill='{color}'>"
    ends = f"x1='{LEFT + width - wide:.1f}' x2='{LEFT + width + wide:.1f}' y1='{middle}' y2='{middle}'"
    return [
        f"{bar}<title>{escape(tip)}</title></rect>",
        f"<line {ends} stroke='#1f2328' stroke-width='1.5'/>",
        _text(LEFT + width + wide + 8, y + 13, speed(samples), "font-size='12'"),
    ]


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(words)}</text>"
