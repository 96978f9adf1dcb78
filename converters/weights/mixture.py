"""All experts' matrices of a projection as com.microsoft::QMoE takes them on CUDA, and back.

Integers stand as in MatMulNBits, [experts, rows, bytes of a row]; FP4 turned, [experts, columns, rows / 2], the even
row in the low nibble (the CPU's kernel wants its rows upright). Where gate and up are one matrix, their rows take
turns: both providers know that order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import InPieces, Value
from converters.weights import pieces
from converters.weights.experts import place_stack
from converters.weights.matrix import FolderRows, Parts, whole_layout
from converters.weights.pieces import joined, upright
from converters.weights.records import TensorRecord
from repack.bits import U8, pair_pack, pair_unpack
from repack.block_quantized import F64, Layout
from repack.errors import MobiusError
from repack.tables import codebook, e8m0_halves, ue4m3_halves

FORM, IN_TURN = "QMoE", ", gate and up in turn"  # in records
HALVES = {"float8e8m0": e8m0_halves, "float8e4m3fn": ue4m3_halves}  # of what scales' bytes mean, for doubled codes
NUMBERS = {"float8e8m0": 256, "float8e4m3fn": 127}  # bytes from 0 on that are scales, in ascending order


@dataclass(frozen=True)
class MixtureKind:
    """How a type stands: QMoE's `quant_type`, the bits of a code, and the type of FP4's scales."""

    quant_type: str
    bits: int
    scale: str | None = None


MIXTURE_KINDS = {
    "Q4_0": MixtureKind("int", 4),
    "Q8_0": MixtureKind("int", 8),
    "MXFP4": MixtureKind("fp4", 4, "float8e8m0"),
    "NVFP4": MixtureKind("nvfp4", 4, "float8e4m3fn"),
}


@dataclass(frozen=True)
class Mixture:
    """The operator's inputs: codes, and scales [experts, rows, blocks]."""

    kind: MixtureKind
    block_size: int
    codes: Value
    scale: Value


def emit_mixture(c: GraphContext, name: str, parts: Sequence[Parts], in_turn: bool) -> Mixture:
    """The matrices of experts, each of one or several parts below one another; `in_turn`: of two halves of rows.

    One expert is read at a time.
    """
    kind, layout, g = MIXTURE_KINDS[parts[0][0].record.source_type], whole_layout(parts[0]), c.graph
    rows, blocks, wanted = layout.rows, layout.block_shape.blocks, kind.scale or c.target.dtype
    size = (layout.columns, rows // 2) if kind.scale else (rows, layout.columns * kind.bits // 8)

    def stacked(part: str, dtype: str, shape: tuple[int, ...], each: Callable[[Parts], npt.NDArray[Any]]) -> Value:
        def between(first: int, end: int) -> npt.NDArray[Any]:
            return np.stack([each(own) for own in parts[first:end]])

        return g.initializer(f"{name}.{part}", dtype, (len(parts), *shape), InPieces(len(parts), between))

    def codes(own: Parts) -> U8:
        stored = _turns(upright(own, pieces.codes)(), in_turn).reshape(rows, -1)
        return pair_pack(_nibbles()[stored].T) if kind.scale else stored

    def scale(own: Parts) -> npt.NDArray[Any]:
        if kind.scale is None:
            return _turns(upright(own, pieces.scale(wanted))(), in_turn)
        return _turns(joined(_fp4_scale(part.matrix().scale(), wanted, part.record) for part in own), in_turn)

    with g.scope(name):
        mixture = Mixture(
            kind,
            layout.block_size,
            stacked("codes", "uint8", size, codes),
            stacked("scale", wanted, (rows, blocks), scale),
        )
    form = f"{FORM} {kind.quant_type}, {kind.bits} bit, block {layout.block_size}{IN_TURN * in_turn}"
    place_stack(name, parts, form, mixture.codes.nbytes + mixture.scale.nbytes)
    return mixture


def only_on_cuda(record: TensorRecord) -> bool:
    """Whether a tensor stands here in an order that CUDA's kernel alone has."""
    return record.format.startswith(FORM) and MIXTURE_KINDS[record.source_type].scale is not None


def _turns(halves: npt.NDArray[Any], in_turn: bool) -> npt.NDArray[Any]:
    """Rows of two halves one by one from each."""
    return halves.reshape(2, -1, *halves.shape[1:]).swapaxes(0, 1).reshape(halves.shape) if in_turn else halves


def _halves(turns: npt.NDArray[Any], in_turn: bool) -> npt.NDArray[Any]:
    """The inverse."""
    return turns.reshape(-1, 2, *turns.shape[1:]).swapaxes(0, 1).reshape(turns.shape) if in_turn else turns


@cache
def _codes() -> U8:
    """[16]: FP4's nibbles to codes around 128."""
    return codebook("MXFP4")[:16, 0]


@cache
def _nibbles() -> U8:
    """[256]: the inverse; of the two zeros the first."""
    found = np.zeros(256, np.uint8)
    found[_codes()[::-1]] = np.arange(16, dtype=np.uint8)[::-1]
    return found


def _fp4_scale(halves: F64, dtype: str, record: TensorRecord) -> U8:
    """The bytes, none of which is rounded.

    Raises:
        MobiusError: a scale is none of the type's.
    """
    table = HALVES[dtype]()[: NUMBERS[dtype]].astype(np.float64)
    stored: U8 = np.searchsorted(table, halves).clip(max=len(table) - 1).astype(np.uint8)
    if (table[stored] != halves).any() or (dtype == "float8e8m0" and (stored == 255).any()):
        raise MobiusError(
            f"{record.name}: a scale is not a number of {dtype}", "the file is damaged: download it again"
        )
    return stored


def read_mixture(
    array: Callable[[str], npt.NDArray[Any]], layout: Layout, record: TensorRecord, expert: int
) -> FolderRows:
    """The rows of one tensor's expert; `array` gives the initializers by name."""
    kind, in_turn, blocks = MIXTURE_KINDS[record.source_type], IN_TURN in record.format, layout.block_shape.blocks
    codes, scale = array(f"{record.stored_as}.codes")[expert], array(f"{record.stored_as}.scale")[expert]
    if kind.scale:
        codes = _codes()[pair_unpack(codes)].T
        scale = HALVES[kind.scale]()[np.ascontiguousarray(scale).view(np.uint8)]
    codes = _halves(codes, in_turn).reshape(len(codes), blocks, -1)
    return FolderRows(layout, record.first_row, codes, _halves(scale, in_turn), None)
