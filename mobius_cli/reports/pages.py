"""HTML pages that need nothing else: Jinja templates with one style, in which every value is escaped."""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]  # templates are named from here


def render(template: str, **values: Any) -> str:
    """The page that a template makes of these values; a value that is missing is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FileSystemLoader(ROOT)
    )
    environment.filters["test_name"] = lambda name: name.replace("@ ", "@\u00a0")  # a depth stays with its sign
    return environment.get_template(template).render(values)


def plain(text: str) -> str:
    """A text that came from elsewhere, in one line, without characters that a page or a terminal cannot show."""
    return "".join(c if c.isprintable() else "\ufffd" for c in " ".join(text.split()))
