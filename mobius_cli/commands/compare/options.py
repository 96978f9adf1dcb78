"""Options and help of `mobius compare`."""

from pathlib import Path
from typing import Annotated

import typer

FORMS = ("md", "csv", "html")

HELP = """Compare results of `mobius bench`: a row for each test, a column for each file, ratios to the first file.

Files are what `mobius bench --json`, or its -o json or jsonl, wrote. What all runs share stands once; what differs,
such as target, threads or versions, stands above the speeds. Speeds of llama.cpp in the same runs are rows of their
own: where their ratio is not about 1, it was not equally fast, so the machine was not the same or not quiet.

Different models or machines are compared too, with a warning: the ratios are then also of these.
"""

Files = Annotated[list[Path], typer.Argument(help="Two results or more; the first is the base.", show_default=False)]
Form = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FORM|FILE",
        help="md, csv or html (a page that stands alone) on stdout; or a file with such a suffix, which is replaced.",
        show_default="a table",
        autocompletion=lambda: list(FORMS),
    ),
]
