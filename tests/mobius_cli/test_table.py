"""Tables on a terminal: narrower gaps, then cells of several lines, then columns below; nothing is cut."""

import pytest

from mobius_cli.table import shortened, table_lines

HEAD = ("name", "two words", "what it is")
ROWS = [("a", "1", "one two three four five six seven"), ("日本", "12", "x")]


def test_a_table_that_fits_is_as_in_a_pipe() -> None:
    assert table_lines(HEAD, ROWS, limit=55) == table_lines(HEAD, ROWS)


def test_smaller_gaps_and_a_head_of_two_lines_come_first() -> None:
    assert table_lines(HEAD, ROWS, right=(1,), limit=49) == [
        " name    two  what it is",
        "       words",
        " ──────────────────────────────────────────────",
        " a         1  one two three four five six seven",
        " 日本     12  x",
    ]


def test_then_the_widest_column_wraps() -> None:
    assert table_lines(HEAD, ROWS, limit=40) == [
        " name  two    what it is",
        "       words",
        " ───────────────────────────────────────",
        " a     1      one two three four five",
        "              six seven",
        " 日本  12     x",
    ]


def test_at_last_columns_go_below_with_the_first_one_again() -> None:
    assert table_lines(HEAD, ROWS, limit=33) == [
        " name  two",
        "       words",
        " ───────────",
        " a     1",
        " 日本  12",
        "",
        " name  what it is",
        " ────────────────────────────────",
        " a     one two three four five",
        "       six seven",
        " 日本  x",
    ]


@pytest.mark.parametrize("limit", [1, 10, 20, 30, 50, 80])
def test_nothing_is_lost(limit: int) -> None:
    rows = [(f"row{i}", "word " * i, "x" * 5 * i, str(i)) for i in range(9)]
    lines = table_lines(("a", "b", "c", "d"), rows, right=(3,), limit=limit)
    text = "\n".join(lines)
    assert text.count("word") == sum(range(9))
    assert all("x" * 5 * i in text for i in range(9))
    assert limit < 50 or max(map(len, lines)) <= limit


def test_shortened() -> None:
    assert shortened("four", 4) == "four"
    assert shortened("fours", 4) == "fou…"
    assert shortened("日本語", 4) == "日…"
