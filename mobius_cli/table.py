"""Tables as text: columns stand under each other, and on a terminal no line is longer than it is wide."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

GAP, NARROW_GAP = "   ", "  "  # between columns
WRAPPED_FROM = 24  # columns of text from which a cell may take several lines

Cells = Sequence[str]


@dataclass(frozen=True)
class _Block:
    """Some of the columns, by index, each with its width."""

    columns: list[int]
    widths: list[int]


def table_lines(head: Cells, rows: Sequence[Cells], right: Sequence[int] = (), limit: int | None = None) -> list[str]:
    """Head, rule and rows; nothing is cut.

    Args:
        head: names of the columns.
        rows: their cells.
        right: indices of right-aligned columns.
        limit: the width of a terminal. A wider table gets smaller gaps, then cells of several lines, and at last it
            continues below, with its first column again.
    """
    lines = [[_shown(cell) for cell in line] for line in (head, *rows)]
    widths = [max(_width(line[i]) for line in lines) for i in range(len(head))]
    if limit is None or _total(widths, GAP) <= limit:
        return _print(_Block(list(range(len(head))), widths), lines, right, GAP)
    printed = []
    for block in _blocks(lines, limit):
        printed += ["", *_print(block, lines, right, NARROW_GAP)]
    return printed[1:]


def shortened(text: str, most: int) -> str:
    """The text, or its beginning in so many columns of a terminal."""
    if _width(text) <= most:
        return text
    while _width(text) >= most:
        text = text[:-1]
    return f"{text}…"


def _blocks(lines: Sequence[Cells], limit: int) -> list[_Block]:
    """As many columns side by side as fit; the first one stands in each block."""
    wanted, least = [], []
    for index in range(len(lines[0])):
        words = max(_width(word) for line in lines for word in (line[index].split() or [""]))
        body = max((_width(line[index]) for line in lines[1:]), default=0)
        wanted.append(max(words, body))  # a head of several words may wrap
        least.append(max(words, min(body, WRAPPED_FROM)))
    found, columns = [], [0]
    for index in range(1, len(least)):
        if len(columns) > 1 and _total([least[i] for i in (*columns, index)], NARROW_GAP) > limit:
            found.append(columns)
            columns = [0]
        columns.append(index)
    return [_Block(block, _fitted(block, wanted, least, limit)) for block in (*found, columns)]


def _fitted(columns: Sequence[int], wanted: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    """Widths within the limit, if the least ones are: the widest column gives way."""
    widths = {i: wanted[i] for i in columns}
    while _total(list(widths.values()), NARROW_GAP) > limit:
        free = [i for i in columns if widths[i] > least[i]]
        if not free:
            break
        widths[max(free, key=lambda i: widths[i])] -= 1
    return list(widths.values())


def _print(block: _Block, lines: Sequence[Cells], right: Sequence[int], gap: str) -> list[str]:
    printed = []
    for number, line in enumerate(lines):
        cells = [_wrapped(line[i], width) for i, width in zip(block.columns, block.widths, strict=True)]
        for level in range(max(map(len, cells))):
            padded = []
            for index, width, parts in zip(block.columns, block.widths, cells, strict=True):
                text = parts[level] if level < len(parts) else ""
                space = " " * (width - _width(text))
                padded.append(space + text if index in right else text + space)
            printed.append(f" {gap.join(padded)}".rstrip())
        if number == 0:
            printed.append(" " + "─" * (_total(block.widths, gap) - 1))
    return printed


def _wrapped(text: str, width: int) -> list[str]:
    """The text in lines of at most this width, unless a word alone is longer."""
    if _width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _width(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _total(widths: Sequence[int], gap: str) -> int:
    return 1 + sum(widths) + len(gap) * (len(widths) - 1)


def _shown(cell: str) -> str:
    """A cell in one line."""
    return "".join(c if c.isprintable() else " " for c in cell)


def _width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    wide = sum(unicodedata.east_asian_width(c) in ("W", "F") for c in text)
    return len(text) + wide - sum(unicodedata.category(c) in ("Mn", "Me", "Cf") for c in text)
