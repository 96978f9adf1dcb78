"""What -o asks for: a form, for stdout, or a file whose suffix names the form."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Wanted:
    """A form of a report, and the file that it goes to; None is stdout."""

    form: str
    path: Path | None = None


def wanted_report(given: str, forms: Collection[str]) -> Wanted:
    """Read the value of -o: one of the forms, or a path that ends in one, such as `report.html`.

    Raises:
        InputError: neither.
    """
    from repack.errors import InputError

    if given in forms:
        return Wanted(given)
    path = Path(given)
    suffix = path.suffix.lower().removeprefix(".")
    if suffix in forms:
        return Wanted(suffix, path)
    first = next(iter(forms))
    raise InputError(
        f"-o {given!r} is neither a form nor a file with the suffix of one",
        f"forms are {', '.join(forms)}; such as -o {first}, or -o report.{first}",
    )
