"""Numbers as text that JSON readers take for exactly the same double.

`tokenizers` reads with serde_json, which converts the digits to a double, divides it by a power of ten, and so rounds
twice: one score in eight would come out next to what was written, and sums of scores would tie elsewhere. With other
digits it is one in thousands.
"""

from collections.abc import Iterable

_PLACES = range(14, 24)  # after the point, to try for numbers that need other digits than repr gives
_LIMIT = 1 << 64  # more digits are dropped


def exact_decimals(values: Iterable[float]) -> list[str]:
    """A text for each number; right rounding gives the number, and serde_json's does where that is possible."""
    return [text if _as_read(text := repr(value)) == value else _other_text(value) for value in values]


def _as_read(text: str) -> float:
    """What serde_json reads."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    places = len(fraction) - int(exponent or 0)
    size = float(int(whole + fraction))
    size = size / float(f"1e{places}") if places >= 0 else size * float(f"1e{-places}")
    return -size if text.startswith("-") else size


def _other_text(value: float) -> str:
    numerator, denominator = value.as_integer_ratio()
    for places in _PLACES:
        near = numerator * 10**places // denominator
        for digits in (near, near + 1):
            text = f"{digits}e-{places}"
            if abs(digits) < _LIMIT and float(text) == value == _as_read(text):
                return text
    return repr(value)
