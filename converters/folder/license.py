"""The licence that a file states for its model."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9.+-]{0,40}")
_LINK = re.compile(r"https?://[\w.-]+(/[\w./%~#=-]*)?", re.ASCII)
MOST_CHARACTERS = 120  # of a text from a file that is shown


def plain_text(value: Any) -> str | None:
    """A text from a stranger's file as one line of visible characters, cut to a readable length; None for others."""
    if not isinstance(value, str):
        return None
    line = " ".join("".join(c if c.isprintable() else " " for c in value).split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]}..."


@dataclass(frozen=True)
class License:
    """What the metadata say, as far as they say it: an identifier such as "apache-2.0", a name, a link."""

    identifier: str | None
    name: str | None
    link: str | None

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> "License":
        """From GGUF's keys."""
        identifier, name, link = (plain_text(metadata.get(f"general.license{part}")) for part in ("", ".name", ".link"))
        return cls(identifier or None, name or None, link or None)

    def as_dict(self) -> dict[str, str | None]:
        """For JSON, beside other keys."""
        return {"license": self.identifier, "license_name": self.name, "license_link": self.link}

    @property
    def is_identifier(self) -> bool:
        """Whether it has the form of the identifiers that model hubs list."""
        return self.identifier is not None and _IDENTIFIER.fullmatch(self.identifier.lower()) is not None

    @property
    def safe_link(self) -> str | None:
        """The link if it is nothing but one."""
        return self.link if self.link is not None and _LINK.fullmatch(self.link) else None

    def __str__(self) -> str:
        said = ", ".join(part for part in (self.identifier, self.name) if part)
        if not said and not self.link:
            return "not stated in the file"
        return f"{said} ({self.link})" if said and self.link else said or str(self.link)
