"""Values out of JSON that may be damaged: each of its type, or an error that says what it is."""

from typing import Any, TypeVar

T = TypeVar("T")


def typed(value: Any, kind: type[T]) -> T:
    """`value` if it is exactly of `kind`. Raises TypeError otherwise."""
    # bool is a subclass of int, so isinstance would let `true` pass as a size.
    if type(value) is not kind:
        raise TypeError(f"{value!r:.40} where {kind.__name__} is expected")
    return value


def number(value: Any) -> float:
    """An int or a float as float. Raises TypeError otherwise."""
    return float(value) if type(value) is int else typed(value, float)


def each(values: Any, kind: type[T]) -> tuple[T, ...]:
    """A list of values of one kind. Raises TypeError otherwise."""
    return tuple(typed(value, kind) for value in typed(values, list))
