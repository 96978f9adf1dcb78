"""An HTML page as a browser reads it: its elements, their words, and whether every tag is closed in order."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}  # elements without an end


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)
    own: str = ""

    @property
    def words(self) -> str:
        """All text inside, in one line."""
        return " ".join([self.own.strip(), *(child.words for child in self.children)]).strip()

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())

    def all(self, tag: str = "", name: str = "") -> list["Element"]:
        """Elements inside, in order, by tag and class."""
        here = [self] if (not tag or self.tag == tag) and (not name or name in self.classes) else []
        return [*here, *(found for child in self.children for found in child.all(tag, name))]

    def percent(self, property_: str) -> float:
        """A property of its style."""
        style = dict(part.split(":") for part in self.attributes["style"].split(";"))
        assert style[property_].endswith("%")
        return float(style[property_][:-1])


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>, line {self.getpos()[0]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].own += f" {data.strip()}" if data.strip() else ""


def parsed(text: str) -> Element:
    """The page; every tag is closed, in order."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.open) == 1, f"<{reader.open[-1].tag}> is not closed"
    return reader.root


def check_stands_alone(text: str) -> None:
    """Nothing is loaded, nothing runs."""
    page = parsed(text)
    assert not {"script", "link", "img", "iframe", "object", "base"} & {element.tag for element in page.all()}
    names = {name for element in page.all() for name in element.attributes}
    assert not {"src", "href", "srcset", "data", "action"} & names
    assert not [name for name in names if name.startswith("on")]
    style = "".join(element.own for element in page.all("style"))
    assert style
    assert "@import" not in style and "url(" not in style and "://" not in text


def check_bars(page: Element) -> None:
    """All bars begin at zero, nothing reaches below it or beyond the scale."""
    assert page.all(name="fill")
    for fill in page.all(name="fill"):
        assert set(fill.attributes) == {"class", "style"}
        assert 0 < fill.percent("width") <= 100
    for whisker in page.all(name="whisker"):
        assert whisker.percent("left") >= 0
        assert whisker.percent("width") > 0
        assert whisker.percent("left") + whisker.percent("width") <= 100.02
        assert ("cut" in whisker.classes) == (whisker.percent("left") == 0)
    for mark in page.all(name="mark"):
        assert 0 < mark.percent("left") <= 100


def check_tables(page: Element) -> None:
    """Each has a caption, heads with a scope, and rows as long as its head."""
    for table in page.all("table"):
        assert table.all("caption")[0].words
        assert {cell.attributes["scope"] for cell in table.all("thead")[0].all("th")} == {"col"}
        width = len(table.all("thead")[0].all("th"))
        for row in table.all("tbody")[0].all("tr"):
            (head,) = row.all("th")
            assert head.attributes == {"scope": "row"}
            assert len(row.all("td")) == width - 1
