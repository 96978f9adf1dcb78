"""The tensors of a checkpoint as a GGUF file has them: names, order of rows, types that hold the weights exactly."""

import math
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.plan import Plan, make_plan
from converters.sources.checkpoint.folder import CheckpointFolder
from converters.sources.source import Order
from converters.target import choose_target
from repack.bits import U8
from repack.block_quantized import BlockMatrix
from repack.errors import MobiusError
from repack.packed.gguf_blocks import ENCODERS, Loss, candidates
from repack.quant_type import BLOCK_SIZES

BAND = 1 << 22  # weights that are encoded together
TYPES = ("q8_0", "q4_1", "f16", "bf16", "f32")  # what those without an exact type can become
Floats = npt.NDArray[np.float32]


@dataclass
class OutTensor:
    """One tensor to write. `losses`: of each type that was tried for it; `squares`: of its error and of its weights."""

    name: str
    shape: tuple[int, ...]
    order: Order
    kind: str
    exact: bool = True
    losses: dict[str, Loss] = field(default_factory=dict)
    squares: list[float] = field(default_factory=lambda: [0.0, 0.0])

    @property
    def row_bytes(self) -> int:
        """Of one row."""
        weights, size = BLOCK_SIZES[self.kind]
        return self.shape[-1] // weights * size

    @property
    def nbytes(self) -> int:
        """Of all rows."""
        return self.row_bytes * math.prod(self.shape[:-1])


def plan_tensors(source: CheckpointFolder, wanted: str | None) -> tuple[list[OutTensor], Plan]:
    """All tensors that the model has a place for, and the plan that says so.

    Args:
        source: the checkpoint.
        wanted: one of TYPES, for quantized tensors that no type of GGUF holds exactly; None: they are refused.

    Raises:
        MobiusError: the model cannot be converted, or has tensors without an exact type.
    """
    as_file, target = copy(source), choose_target("cpu")
    as_file.half_split = False  # what the rows of a GGUF file of this architecture would have to be turned by
    theirs, ours = make_plan(as_file, target), make_plan(source, target)
    unused = set(ours.weights.ignored)
    found = [
        _planned(source, name, _order(name, ours, theirs), wanted) for name in source.tensors if name not in unused
    ]
    if (left := [tensor for tensor in found if not tensor.exact]) and wanted is None:
        raise _refusal(left)
    return found, ours


def _order(name: str, ours: Plan, theirs: Plan) -> Order:
    """Of the checkpoint's rows in the file: the graph's rows are both ours[a] and the file's[b]."""
    a, b = ours.weights.orders.get(name), theirs.weights.orders.get(name)
    if b is None:
        return a
    back = np.argsort(b)
    return back if a is None else a[back]


def _planned(source: CheckpointFolder, name: str, order: Order, wanted: str | None) -> OutTensor:
    tensor, (expert, *_) = source.tensors[name], _experts(source, name)
    shape = tuple(tensor.shape)
    first = source.matrix(name, None, expert)
    if first is None:
        return OutTensor(name, shape, order, tensor.type_name if len(shape) > 1 else "F32")
    made = OutTensor(name, shape, order, "", exact=False)
    for kind in candidates(first):
        loss = made.losses[kind] = Loss()
        for band in _bands(source, made):
            loss.add(ENCODERS[kind](band)[1])
            if loss.wrong:
                break
        if loss.exact:
            made.kind, made.exact = kind, True
            return made
    made.kind = (wanted or "f32").upper()
    if shape[-1] % BLOCK_SIZES[made.kind][0] or (
        made.kind in ENCODERS and made.kind not in (*candidates(first), "Q8_0")
    ):
        raise MobiusError(f"{name} cannot be {made.kind}: its rows or codes do not fit", "take --to-gguf-type f16")
    return made


def _experts(source: CheckpointFolder, name: str) -> Sequence[int | None]:
    """Of a stack that is read one matrix at a time."""
    shape = source.tensors[name].shape
    return range(shape[0]) if len(shape) == 3 else (None,)


def _bands(source: CheckpointFolder, tensor: OutTensor) -> Iterator[BlockMatrix]:
    for expert in _experts(source, tensor.name):
        matrix = source.matrix(tensor.name, tensor.order, expert)
        assert matrix is not None
        rows, columns = matrix.layout.rows, matrix.layout.columns
        step = max(1, BAND // columns)
        for first in range(0, rows, step):
            yield matrix.cut((first, min(first + step, rows)), (0, columns))


def pieces(source: CheckpointFolder, tensor: OutTensor) -> Iterator[U8]:
    """The bytes of a tensor in the file, in pieces."""
    if source.matrix(tensor.name, None, _experts(source, tensor.name)[0]) is None:
        yield from _floats(source, tensor)
        return
    for band in _bands(source, tensor):
        if tensor.exact:
            yield ENCODERS[tensor.kind](band)[0]
            continue
        values = band.dequantize()
        raw, back = _rounded(values, band, tensor.kind)
        tensor.squares[0] += float(np.square(back - values, dtype=np.float64).sum())
        tensor.squares[1] += float(np.square(values, dtype=np.float64).sum())
        yield raw


def _floats(source: CheckpointFolder, tensor: OutTensor) -> Iterator[U8]:
    """As stored; vectors are float32, which alone llama.cpp adds and multiplies with."""
    if len(tensor.shape) == 1:
        yield source.floats(tensor.name, tensor.order).view(np.uint8)
        return
    for expert in _experts(source, tensor.name):
        rows = source.raw(tensor.name, None, expert)
        order = np.arange(len(rows)) if tensor.order is None else tensor.order
        step = max(1, BAND // tensor.shape[-1])
        for first in range(0, len(rows), step):
            yield np.ascontiguousarray(rows[order[first : first + step]])


def _rounded(values: Floats, band: BlockMatrix, kind: str) -> tuple[U8, Floats]:
    """The bytes in another type, and what they mean: by the gguf package, but for codes that are kept."""
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize, quantize

    number = GGMLQuantizationType[kind]
    raw: npt.NDArray[Any] = ENCODERS[kind](band)[0] if kind == "Q4_1" else quantize(values, number)
    return raw.view(np.uint8).reshape(len(values), -1), np.asarray(dequantize(raw, number), np.float32)


def _refusal(left: Sequence[OutTensor]) -> MobiusError:
    """How much would be rounded, and what can be done."""
    total, first = Loss(), left[0]
    for tensor in left:
        for loss in list(tensor.losses.values())[-1:]:
            total.add(loss)
    reason = "no type of GGUF has such codes"
    if total.numbers and not total.wrong:
        share = total.rounded / total.numbers
        reason = (
            f"as {list(first.losses)[-1]}, {share:.1%} of their scales and minimums would be rounded,"
            f" by {total.max_relative_error:.2g} of themselves at most"
        )
    return MobiusError(
        f"{len(left)} quantized tensors, such as {first.name}, have no exact type in GGUF: {reason}",
        f"--to-gguf-type f32 writes these exactly, only larger; {'|'.join(t for t in TYPES if t != 'f32')} round them",
    )
