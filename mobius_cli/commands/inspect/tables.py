"""The tables of `mobius inspect`, of a file's tensors as of a folder's: a row per type, or one per tensor."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mobius_cli.output import Output, megabytes


@dataclass(frozen=True)
class Tensor:
    """A tensor of a GGUF file, its size there in bytes, and what it becomes; "-" if that is not known."""

    name: str
    shape: tuple[int, ...]
    type: str
    bytes: int
    becomes: str = "-"
    stored_bytes: int = 0


def by_type(tensors: Iterable[Tensor]) -> list[dict[str, Any]]:
    """Sums over the tensors of one type that become the same, for JSON, the largest in the file first."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for tensor in tensors:
        new = {"type": tensor.type, "tensors": 0, "weights": 0, "bytes": 0, "becomes": tensor.becomes,
               "stored_bytes": 0}  # fmt: skip
        row = rows.setdefault((tensor.type, tensor.becomes), new)
        row["tensors"] += 1
        row["weights"] += math.prod(tensor.shape)
        row["bytes"] += tensor.bytes
        row["stored_bytes"] += tensor.stored_bytes
    for row in rows.values():
        row["bits_per_weight"] = round(8 * row["stored_bytes"] / max(1, row["weights"]), 4)
    return sorted(rows.values(), key=lambda r: -r["bytes"])


def print_types(rows: Sequence[dict[str, Any]], verb: str, output: Output) -> None:
    """The rows of `by_type`; `verb` heads the column of what they become."""
    output.table(
        ("type", "tensors", "weights", "in file", verb, "stored", "bits"),
        [
            (row["type"], str(row["tensors"]), f"{row['weights']:,}", megabytes(row["bytes"]), row["becomes"],
             *(("-", "-") if row["becomes"] == "-" else
               (megabytes(row["stored_bytes"]), f"{row['bits_per_weight']:.2f}")))
            for row in rows
        ],
        right=(1, 2, 3, 5, 6),
    )  # fmt: skip


def each_tensor(tensors: Iterable[Tensor]) -> list[dict[str, Any]]:
    """All tensors, for JSON."""
    return [{"name": t.name, "shape": list(t.shape), "type": t.type, "becomes": t.becomes} for t in tensors]


def print_tensors(rows: Sequence[dict[str, Any]], verb: str, output: Output) -> None:
    """The rows of `each_tensor`."""
    cells = [(row["name"], " x ".join(map(str, row["shape"])), row["type"], row["becomes"]) for row in rows]
    output.table(("tensor", "shape", "type", verb), cells)
