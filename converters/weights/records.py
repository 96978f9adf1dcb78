"""What became of every tensor: filled while the graph is built and the weights are written."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from converters.checked import each, number, typed
from repack.errors import MobiusError


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


_SELDOM = ("values", "experts")  # not written where a tensor has none


@dataclass
class TensorRecord:
    """One tensor of the source and its place in the model.

    `stored_as` is the stem of its initializers' names: another than its own when several tensors are stacked in
    one matrix, where its rows begin at `first_row`; `rows_first`: that matrix stands upright. `experts`: it is a stack
    of so many matrices, each stored by itself. `values` are those of a small tensor that is not stored itself. Only the
    form that a tensor takes fills the record, by `place`.
    """

    name: str
    source_type: str
    shape: tuple[int, ...]
    source_bytes: int
    format: str = ""
    stored_bytes: int = 0
    stored_as: str = ""
    first_row: int = 0
    rows_first: bool = True
    experts: int = 0
    roundings: dict[str, Rounding] = field(default_factory=dict)
    values: list[float] | None = None

    def place(
        self,
        form: str,
        stored_bytes: int,
        *,
        stored_as: str = "",
        first_row: int = 0,
        rows_first: bool = True,
        experts: int = 0,
    ) -> None:
        """Note what the tensor became."""
        self.format, self.stored_bytes, self.experts = form, stored_bytes, experts
        self.stored_as, self.first_row, self.rows_first = stored_as, first_row, rows_first

    @property
    def exact(self) -> bool:
        """Whether the weights are the file's, bit for bit in float32 (known once the tensor is written)."""
        return not any(r.rounded for r in self.roundings.values())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = {**asdict(self), "shape": list(self.shape), "exact": self.exact}
        return {key: value for key, value in found.items() if key not in _SELDOM or value not in (None, 0)}

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Self:
        """From what `as_dict` gave. Raises KeyError or TypeError if it is damaged."""
        values = entry.get("values")
        return cls(
            name=typed(entry["name"], str),
            source_type=typed(entry["source_type"], str),
            shape=each(entry["shape"], int),
            source_bytes=typed(entry["source_bytes"], int),
            format=typed(entry["format"], str),
            stored_bytes=typed(entry["stored_bytes"], int),
            stored_as=typed(entry["stored_as"], str),
            first_row=typed(entry["first_row"], int),
            rows_first=typed(entry["rows_first"], bool),
            experts=typed(entry.get("experts", 0), int),
            roundings={kind: Rounding.from_dict(one) for kind, one in typed(entry["roundings"], dict).items()},
            values=None if values is None else [number(value) for value in typed(values, list)],
        )


def store_as(values: npt.NDArray[np.floating[Any]], dtype: str, record: TensorRecord, kind: str) -> npt.NDArray[Any]:
    """Round `values` once to `dtype` ("float32", "float16" or "bfloat16") and note what that changed.

    Raises:
        MobiusError: a value is not finite in the file, or too large for `dtype`.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        stored = values.astype(dtype)
    if not np.isfinite(stored).all():
        if not np.isfinite(values).all():
            raise MobiusError(f"{record.name}: the file holds a {kind} that is not a finite number",
                              "the file is damaged: download it again")  # fmt: skip
        largest = float(np.abs(values).max())
        raise MobiusError(f"{record.name}: a {kind} of {largest:.3g} is too large for {dtype}", "use --dtype f32")
    if stored.dtype == values.dtype:
        return stored
    wide = values.astype(np.float64, copy=False)
    changed = stored.astype(np.float64) != wide
    note = record.roundings.setdefault(kind, Rounding())
    note.count += wide.size
    note.rounded += int(changed.sum())
    tiny = np.abs(stored.astype(np.float64)) < _smallest_normal(dtype)
    note.flushed_to_zero += int(((stored == 0) & (wide != 0)).sum())
    note.subnormal += int((tiny & (stored != 0)).sum())
    if changed.any():
        original = wide[changed]
        errors = np.abs(stored[changed].astype(np.float64) - original) / np.abs(original)
        note.max_relative_error = max(note.max_relative_error, float(errors.max()))
    return stored


def _smallest_normal(dtype: str) -> float:
    """bfloat16 has float32's exponents."""
    return float(np.finfo("float32" if dtype == "bfloat16" else dtype).smallest_normal)


def sum_roundings(records: Iterable[TensorRecord]) -> dict[str, Rounding]:
    """All that was stored in another type, by source type and kind of number: "Q4_K scale" -> sum over tensors."""
    sums: dict[str, Rounding] = {}
    for record in records:
        for kind, one in record.roundings.items():
            total = sums.setdefault(f"{record.source_type} {kind}", Rounding())
            total.count += one.count
            total.rounded += one.rounded
            total.flushed_to_zero += one.flushed_to_zero
            total.subnormal += one.subnormal
            total.max_relative_error = max(total.max_relative_error, one.max_relative_error)
    return sums


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
