"""The one sink: data on stdout, words on stderr; with --json one object on stdout and no words."""

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from converters.weights.records import Rounding

GAP = "   "  # between columns
Advance = Callable[[int, str], None]  # moves a progress bar by so many bytes, showing a name


class Output:
    """Where a command's results and remarks go."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json

    def data(self, text: str = "", end: str = "\n") -> None:
        """A line of result; nothing in JSON mode."""
        if not self.as_json:
            sys.stdout.write(text + end)
            sys.stdout.flush()

    def result(self, content: dict[str, Any]) -> None:
        """The command's one JSON object; nothing in human mode."""
        if self.as_json:
            sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")

    def note(self, text: str) -> None:
        """A remark."""
        if not self.as_json:
            sys.stderr.write(text + "\n")

    def warning(self, text: str) -> None:
        """A remark that the user should act on or know; kept in JSON mode, on stderr."""
        sys.stderr.write(f"warning: {text}\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
        """A plain table on stdout; `right` are the indices of right-aligned columns."""
        if self.as_json:
            return
        lines = [[_shown(cell) for cell in line] for line in (columns, *rows)]
        widths = [max(_width(line[i]) for line in lines) for i in range(len(columns))]
        printed = [_line(line, widths, right) for line in lines]
        # Written in one go, and not cut to the width of a terminal: whole names matter more than columns.
        rule = "─" if (sys.stdout.encoding or "").lower().startswith("utf") else "-"
        under = " " + rule * (sum(widths) + len(GAP) * (len(widths) - 1))
        sys.stdout.write("\n".join(["", printed[0], under, *printed[1:], "", ""]))
        sys.stdout.flush()

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Advance]:
        """A bar of `total` bytes on a terminal's stderr; nothing elsewhere."""
        if self.as_json or not sys.stderr.isatty():
            yield lambda step, text: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=total)

            def advance(step: int, text: str) -> None:
                bar.update(task, advance=step, description=f"{label} {text}".strip())

            yield advance


def _shown(cell: str) -> str:
    """A cell in one line."""
    return "".join(c if c.isprintable() else " " for c in cell)


def _width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in text)
    return len(text) + wide - sum(unicodedata.category(c) in ("Mn", "Me", "Cf") for c in text)


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    padded = []
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - _width(cell))
        padded.append(space + cell if index in right else cell + space)
    return f" {GAP.join(padded)}".rstrip()


def rounding_lines(roundings: Mapping[str, "Rounding"]) -> list[str]:
    """What was rounded: a line for each kind of number, such as "Q4_K scales"; or one that says that nothing was."""
    if not any(r.rounded for r in roundings.values()):
        return ["weights: exact, every one equals the GGUF's bit for bit in float32"]
    lines = []
    for kind, r in roundings.items():
        line = f"{kind}s: exact"
        if r.rounded:
            line = f"{kind}s: {r.rounded} of {r.count} rounded, at most {r.max_relative_error:.2g} relative"
        if r.flushed_to_zero or r.subnormal:
            line += f"; {r.flushed_to_zero} became zero, {r.subnormal} subnormal"
        lines.append(line)
    return lines


def megabytes(size: int) -> str:
    """Decimal megabytes, as file managers and registries count."""
    return f"{size / 1e6:,.1f} MB"
