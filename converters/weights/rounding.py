"""Numbers stored in a narrower type, and how they changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from converters.checked import number, typed
from repack.bands import over_bands

Floats = npt.NDArray[np.floating[Any]]
BAND = 1 << 15  # numbers that are rounded together


@dataclass
class Rounding:
    """How numbers of one kind changed when they were stored in a narrower type."""

    count: int = 0
    rounded: int = 0
    max_relative_error: float = 0.0
    flushed_to_zero: int = 0
    subnormal: int = 0

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Self:
        """From JSON. Raises KeyError or TypeError if it is damaged."""
        return cls(
            count=typed(entry["count"], int),
            rounded=typed(entry["rounded"], int),
            max_relative_error=number(entry["max_relative_error"]),
            flushed_to_zero=typed(entry["flushed_to_zero"], int),
            subnormal=typed(entry["subnormal"], int),
        )

    def add(self, others: Iterable["Rounding"]) -> None:
        """Count these as well."""
        for other in others:
            self.count += other.count
            self.rounded += other.rounded
            self.max_relative_error = max(self.max_relative_error, other.max_relative_error)
            self.flushed_to_zero += other.flushed_to_zero
            self.subnormal += other.subnormal


def rounded(values: Floats, dtype: str) -> tuple[npt.NDArray[Any], list[Rounding] | None]:
    """`values` rounded once to `dtype` ("float32", "float16" or "bfloat16"), and how they changed, by parts.

    None: not all results are finite.
    """
    if dtype == "bfloat16":
        import ml_dtypes  # noqa: F401 - numpy knows the name from then on
    stored = np.empty(values.shape, dtype)
    flat, out = np.ascontiguousarray(values).reshape(-1), stored.reshape(-1)

    def narrow(band: slice) -> Rounding | None:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            out[band] = flat[band]
        return _change(flat[band], out[band]) if np.isfinite(out[band]).all() else None

    notes = over_bands(flat.size, BAND, narrow)
    finite = [note for note in notes if note is not None]
    return stored, finite if len(finite) == len(notes) else None


def rounding_lines(roundings: Mapping[str, Rounding]) -> list[str]:
    """What was rounded: a line for each kind of number, such as "Q4_K scales"; or one that says that nothing was."""
    if not any(r.rounded for r in roundings.values()):
        return ["weights: exact, every one equals the source's bit for bit in float32"]
    lines = []
    for kind, r in roundings.items():
        line = f"{kind}s: exact"
        if r.rounded:
            line = f"{kind}s: {r.rounded} of {r.count} rounded, at most {r.max_relative_error:.2g} relative"
        if r.flushed_to_zero or r.subnormal:
            line += f"; {r.flushed_to_zero} became zero, {r.subnormal} subnormal"
        lines.append(line)
    return lines


def _change(values: Floats, stored: npt.NDArray[Any]) -> Rounding:
    """From finite numbers to finite ones."""
    if stored.dtype == values.dtype:
        return Rounding(values.size)
    wide, after = values.astype(np.float64, copy=False), stored.astype(np.float64)
    changed, size = after != wide, np.abs(after)
    zero = size == 0
    note = Rounding(
        count=wide.size,
        rounded=int(np.count_nonzero(changed)),
        flushed_to_zero=int(np.count_nonzero(zero & (wide != 0))),
        subnormal=int(np.count_nonzero((size < _smallest_normal(stored.dtype.name)) & ~zero)),
    )
    if note.rounded:
        original = wide[changed]
        note.max_relative_error = float((np.abs(after[changed] - original) / np.abs(original)).max())
    return note


def _smallest_normal(dtype: str) -> float:
    """bfloat16 has float32's exponents."""
    return float(np.finfo("float32" if dtype == "bfloat16" else dtype).smallest_normal)
