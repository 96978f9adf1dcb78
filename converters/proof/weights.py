"""Every number of a model folder beside its source's: what the folder's arrays mean, bit for bit, no session needed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.proof.bands import Unequal, band_rows, same
from converters.proof.difference import Findings
from converters.proof.rounded import RoundedMatrix
from converters.sources.onnx_folder.folder import OnnxFolder
from converters.sources.onnx_folder.planes import StoredPlanes
from converters.sources.source import Order, Source
from converters.weights.mixture import only_on_cuda
from converters.weights.records import TensorRecord
from converters.weights.rounding import Rounding, rounded
from repack.bits import read_floats
from repack.block_quantized import BlockMatrix
from repack.errors import InputError
from repack.registry import FLOAT_TYPES

OnTensor = Callable[[str, int], None]  # the tensor that was compared, and its bytes in the source
_SMALL = 1 << 20  # weights of a tensor that is read at once
Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True)
class WeightsProof:
    """What is compared: `orders` are those in which the graph wants the rows of tensors, `dtype` its activations'."""

    source: Source
    folder: OnnxFolder
    orders: Mapping[str, Order]
    dtype: str
    findings: Findings

    def check(self, records: Sequence[TensorRecord], on_tensor: OnTensor) -> None:
        """Compare all tensors, and what the records say was rounded."""
        for record in records:
            try:
                self._check(record)
            except InputError as error:
                self.findings.add("weights", record.name, error.message)
            except (ValueError, IndexError):
                self.findings.add("weights", record.name, "stands in the folder in another shape")
            on_tensor(record.name, record.source_bytes)

    def _check(self, record: TensorRecord) -> None:
        name, found = record.name, Unequal()
        given = self.source.tensors.get(name)
        if given is None or tuple(given.shape) != tuple(record.shape):
            self.findings.add("weights", name, "is not in the source, or in another shape")
            return
        if record.values is not None:
            wanted = self.source.floats(name, self.orders.get(name)).reshape(1, -1)
            found.add(np.array([record.values], np.float32), wanted, 0)
        elif not record.stored_bytes:
            return
        notes: dict[str, Rounding] = {}
        for expert in range(record.experts) if record.experts else (None,) if record.values is None else ():
            if record.stored_as:
                self._quantized(record, expert, found, notes)
            else:
                self._dense(record, expert, found, notes)
        self.findings.tensors += 1
        self.findings.weights += math.prod(record.shape)
        if found.count:
            self._differs(record, found)
        else:
            self._rounded_as_said(record, notes)

    def _quantized(self, record: TensorRecord, expert: int | None, found: Unequal, notes: dict[str, Rounding]) -> None:
        order = self.orders.get(record.name)
        given = self.source.matrix(record.name, order, expert)
        if given is None:
            raise ValueError
        stored = self.folder.stored(record.name, given.layout, expert)
        dtype = None if only_on_cuda(record) else self.dtype  # whose scales are of a type of their own
        rows, columns = given.layout.rows, given.layout.columns
        starts = band_rows(rows, columns)
        for first in starts:
            band = (first, min(first + starts.step, rows)), (0, columns)
            ours, theirs = stored.cut(*band), RoundedMatrix(given.cut(*band), dtype)
            self._compare(ours, theirs, found, first + (expert or 0) * rows)
            for kind, note in theirs.notes.items():
                notes.setdefault(kind, Rounding()).add([note])

    def _compare(self, ours: BlockMatrix, theirs: RoundedMatrix, found: Unequal, first_row: int) -> None:
        wanted: BlockMatrix = theirs
        if isinstance(ours, StoredPlanes):  # numbers stand as in the source, and a session rounds them
            wanted = theirs.matrix
            theirs.scale()
            if theirs.layout.has_offset:
                theirs.offset()
        if not same(ours, wanted):
            before = found.count
            found.add(ours.dequantize(), wanted.dequantize(), first_row)
            if found.count == before:  # such as codes beside a scale of 0
                raise InputError("codes or scales differ, though the weights that they make do not")

    def _dense(self, record: TensorRecord, expert: int | None, found: Unequal, notes: dict[str, Rounding]) -> None:
        stored = self.folder.dense(record.name, expert)
        rows, kind = stored.shape[0], {"uint16": "bfloat16"}.get(stored.dtype.name, stored.dtype.name)
        if kind == "bfloat16":
            import ml_dtypes  # noqa: F401 - numpy knows the name from then on
        starts = band_rows(rows, stored.shape[1])
        for first in starts:
            band = slice(first, min(first + starts.step, rows))
            values, parts = rounded(self._floats(record, expert, stored.shape, band), kind)
            if kind != "float32":
                notes.setdefault("weight", Rounding()).add(parts or ())
            found.add(stored[band], values.view(stored.dtype), first + (expert or 0) * rows)

    def _floats(self, record: TensorRecord, expert: int | None, shape: tuple[int, ...], band: slice) -> Floats:
        """Rows of a tensor that stands in the folder as floats [rows, columns]."""
        name, order, source = record.name, self.orders.get(record.name), self.source
        if math.prod(shape) <= _SMALL or len(record.shape) == 1:
            return source.floats(name, order, expert).reshape(shape)[band]
        if record.source_type in FLOAT_TYPES:
            rows = source.raw(name, expert=expert).reshape(shape[0], -1)
            return read_floats(rows[band] if order is None else rows[order[band]], record.source_type)
        packed = source.matrix(name, order, expert)
        assert packed is not None
        return packed.cut((band.start, band.stop), (0, shape[1])).dequantize()

    def _differs(self, record: TensorRecord, found: Unequal) -> None:
        order, row = self.orders.get(record.name), found.row
        if len(record.shape) == 1:
            place = f"element {found.column if order is None else int(order[found.column]):,}"
        else:
            place = f"row {row if order is None else int(order[row]):,}, column {found.column:,}"
        self.findings.add(
            "weights",
            record.name,
            f"{found.count:,} of {math.prod(record.shape):,} weights differ, first in {place}:"
            f" {found.stored:.9g} instead of {found.wanted:.9g}",
        )

    def _rounded_as_said(self, record: TensorRecord, notes: Mapping[str, Rounding]) -> None:
        """Against what the manifest declares."""
        for kind in {*notes, *record.roundings}:
            said, seen = (of.get(kind, Rounding()) for of in (record.roundings, notes))
            if (said.rounded, said.flushed_to_zero) != (seen.rounded, seen.flushed_to_zero):
                what = f"{seen.rounded:,} {kind}s are rounded, where mobius.json says {said.rounded:,}"
                self.findings.add("weights", record.name, what)
