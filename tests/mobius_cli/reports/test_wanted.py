"""What -o asks for."""

from pathlib import Path

import pytest

from mobius_cli.reports.wanted import Wanted, wanted_report
from repack.errors import InputError

FORMS = ("md", "html")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("html", Wanted("html")),
        ("report.html", Wanted("html", Path("report.html"))),
        ("a.b/R.HTML", Wanted("html", Path("a.b/R.HTML"))),
        ("./html.md", Wanted("md", Path("html.md"))),
    ],
)
def test_forms_and_files(given: str, wanted: Wanted) -> None:
    assert wanted_report(given, FORMS) == wanted


@pytest.mark.parametrize("given", ["", "HTML", "htm", "a.htm", "a", ".html", "a.html/", "a.html/b", "./html", "-"])
def test_anything_else_is_refused(given: str) -> None:
    if given == "a.html/":  # a path does not keep the slash; that it is a folder is found when it is opened
        assert wanted_report(given, FORMS).path == Path("a.html")
        return
    with pytest.raises(InputError, match="is neither a form nor a file") as refused:
        wanted_report(given, FORMS)
    assert "md, html" in refused.value.hint
