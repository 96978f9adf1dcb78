"""The one sink: data on stdout, words on stderr; with --json one object on stdout and no words."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

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
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table

        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for index, column in enumerate(columns):
            table.add_column(column, justify="right" if index in right else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        # A pipe has no width: never fold there, so that scripts see whole names.
        width = None if sys.stdout.isatty() else 240
        Console(width=width, markup=False, emoji=False, highlight=False).print(table)

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


def megabytes(size: int) -> str:
    """Decimal megabytes, as file managers and registries count."""
    return f"{size / 1e6:,.1f} MB"
