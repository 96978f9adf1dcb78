"""`mobius compare`: results of several runs of `mobius bench`, side by side."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mobius_cli.commands.compare.comparison import Comparison
from mobius_cli.commands.compare.options import FORMS
from mobius_cli.commands.compare.page import page
from mobius_cli.commands.compare.read import read_runs
from mobius_cli.commands.compare.tables import as_csv, as_object, differences, markdown, shared, speeds
from mobius_cli.output import Output
from mobius_cli.reports.destination import destination
from mobius_cli.reports.wanted import Wanted

WRITERS: dict[str, Callable[[Comparison], str]] = dict(zip(FORMS, (markdown, as_csv, page), strict=True))


def compare_files(paths: Sequence[Path], wanted: Wanted | None, output: Output) -> None:
    """Read the files, and report what they hold.

    Args:
        paths: results of `mobius bench`, the base first.
        wanted: a form, and where it goes; None prints tables for people.
        output: for stdout and stderr.

    Raises:
        InputError: fewer than two files, one that is no such result, or a report that cannot be written.
    """
    found = Comparison(read_runs(paths))
    if wanted is None:
        _print(found, output)
    else:
        with destination(wanted, output, paths) as put:
            put(WRITERS[wanted.form](found))
    for warning in found.warnings:
        output.warning(warning)
    output.result(as_object(found))


def _print(found: Comparison, output: Output) -> None:
    if words := shared(found):
        output.words(words)
    head, *rows = differences(found)
    output.table(head, rows)
    head, *rows = speeds(found)
    output.table(head, rows, right=range(1, len(head)))
