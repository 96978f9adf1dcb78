"""Tables on stdout: columns stand under each other, whatever a terminal makes of the characters."""

import pytest

from mobius_cli.output import Output


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("a", "1", "long enough"), ("日本", "12.50", "x"), ("e\u0301\n", "-", "")]
    Output().table(("name", "number", "what it is"), rows, right=(1,))
    assert capsys.readouterr().out.splitlines() == [
        "",
        " name   number   what it is",
        " ───────────────────────────",
        " a           1   long enough",
        " 日本    12.50   x",
        " e\u0301           -",
        "",
    ]


def test_without_rows_the_head_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("a", "b"), [])
    assert capsys.readouterr().out.splitlines() == ["", " a   b", " ─────", ""]


def test_in_json_mode_there_are_no_tables(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).table(("a",), [("b",)])
    assert capsys.readouterr().out == ""
