"""The style of pages: contrast of its colours by day and by night, and templates that an installation has too."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
STYLE = (ROOT / "mobius_cli" / "reports" / "style.css").read_text(encoding="utf-8")
DAY, NIGHT = (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in STYLE.split("@media", 2)[:2])


def luminance(color: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_wcags() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("colors", [DAY, NIGHT], ids=["day", "night"])
def test_contrast(colors: dict[str, str]) -> None:
    assert set(colors) == {"page", "text", "muted", "line", "track", "box", "ours", "theirs", "first"}
    for word in ("text", "muted"):
        for ground in ("page", "box"):
            assert contrast(colors[word], colors[ground]) >= 4.5, (word, ground)
    for bar in ("ours", "theirs", "first"):
        for ground in ("page", "track"):
            assert contrast(colors[bar], colors[ground]) >= 3, (bar, ground)


def test_colours_have_one_place() -> None:
    """Else one of them would be the same by night."""
    rules = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert not re.search(r"#[0-9a-fA-F]{3}|rgb|hsl|: ?(white|black)\b(?!-)", rules)
    assert set(re.findall(r"var\(--(\w+)\)", STYLE)) == {*DAY, "color"}


def test_no_text_is_small() -> None:
    sizes = [float(size) * 16 for size in re.findall(r"(?:font-size: |font: )(\d*\.?\d+)rem", STYLE)]
    assert len(sizes) > 5
    assert min(sizes) >= 12


def test_an_installation_has_every_file() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["mobius_cli"]
    kept = {path for pattern in patterns for path in (ROOT / "mobius_cli").glob(pattern)}
    needed = {path for suffix in ("html", "css") for path in (ROOT / "mobius_cli").rglob(f"*.{suffix}")}
    assert needed
    assert needed <= kept
