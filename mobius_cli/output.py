"""The one sink: data on stdout, words on stderr; with --json one object on stdout and no words."""

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mobius_cli.table import table_lines

Advance = Callable[[int, str], None]  # moves a progress bar by so many of its units, showing a name
BYTES = "bytes"


class Output:
    """Where a command's results and remarks go.

    Attributes:
        as_json: one object, and nothing else.
        quiet: nothing but `verdict`.
        verbose: `detail` too.
    """

    def __init__(self, as_json: bool = False, *, quiet: bool = False, verbose: bool = False) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.verbose = verbose

    @property
    def _silent(self) -> bool:
        return self.as_json or self.quiet

    def data(self, text: str = "", end: str = "\n") -> None:
        """A line of result; nothing in JSON mode."""
        if not self._silent:
            sys.stdout.write(text + end)
            sys.stdout.flush()

    def words(self, text: str) -> None:
        """A sentence of result; on a terminal its lines end between words."""
        if not self._silent:
            self._sentence(text)

    def detail(self, text: str) -> None:
        """A sentence of result for who wants to know more."""
        if self.verbose:
            self.words(text)

    def verdict(self, text: str) -> None:
        """The sentence that says what came of it, also when quiet."""
        if not self.as_json:
            self._sentence(text)

    def _sentence(self, text: str) -> None:
        if (width := _terminal_width()) is not None:
            text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
        sys.stdout.write(text + "\n")
        sys.stdout.flush()

    def result(self, content: dict[str, Any]) -> None:
        """The command's one JSON object; nothing in human mode."""
        if self.as_json:
            sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")

    def note(self, text: str) -> None:
        """A remark."""
        if not self._silent:
            sys.stderr.write(text + "\n")

    def warning(self, text: str) -> None:
        """A remark that the user should act on or know; kept in JSON mode, on stderr."""
        sys.stderr.write(f"warning: {text}\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
        """A plain table on stdout; `right` are the indices of right-aligned columns."""
        if self._silent:
            return
        lines = table_lines(columns, rows, right, _terminal_width())
        if not (sys.stdout.encoding or "").lower().startswith("utf"):
            lines = [line.replace("─", "-") for line in lines]
        sys.stdout.write("\n".join(["", *lines, "", ""]))  # in one go
        sys.stdout.flush()

    @contextmanager
    def progress(self, label: str, total: int | None, unit: str) -> Iterator[Advance]:
        """A bar on a terminal's stderr, with the time that is left; nothing elsewhere.

        Args:
            label: what is done.
            total: how much of it; None if there is no telling.
            unit: what is counted: BYTES, "tokens".
        """
        if self._silent or not sys.stderr.isatty():
            yield lambda step, text: None
            return
        with _bar(label, total, unit) as move:
            yield lambda step, text: move(step, f"{label} {text}".strip())


def _terminal_width() -> int | None:
    """Columns of the terminal that stdout is; None elsewhere, where a line is a row."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


@contextmanager
def _bar(label: str, total: int | None, unit: str) -> Iterator[Advance]:
    """A bar; what moves it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    if total is None:
        counted: list[Any] = [TimeElapsedColumn()]
    elif unit == BYTES:
        counted = [DownloadColumn(), TimeRemainingColumn(), TextColumn("left")]
    else:
        counted = [MofNCompleteColumn(), TextColumn(unit), TimeRemainingColumn(), TextColumn("left")]
    columns = (TextColumn("{task.description}"), BarColumn(), *counted)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda step, text: bar.update(task, advance=step, description=text)


def megabytes(size: int) -> str:
    """Decimal megabytes, as file managers and registries count."""
    return f"{size / 1e6:,.1f} MB"
