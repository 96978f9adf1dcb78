"""A quantized matrix in standard ONNX: DequantizeLinear over blocks of a transposed matrix, which runtimes fuse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from converters.graph import Graph, Value
from converters.quantized import Part, joined, offsets, scales
from converters.target import Target
from repack.bits import pair_pack, pair_unpack
from repack.block_quantized import Layout
from repack.quant_type import QuantType

BLOCK_AXIS = 0  # of [columns, rows]: the one layout in which ONNX Runtime finds its fast product


@dataclass(frozen=True)
class QdqMatrix:
    """`weight` [columns, rows] as the float that DequantizeLinear gives; `codes` signed, of the same shape.

    `scale` and `offset` [blocks, rows].
    """

    layout: Layout
    weight: Value
    codes: Value
    scale: Value
    offset: Value | None


def emit_qdq(graph: Graph, name: str, quant: QuantType, parts: Sequence[Part], target: Target) -> QdqMatrix:
    """Initializers and the DequantizeLinear of one matrix; all `parts` are of type `quant`."""
    layout = replace(parts[0].layout, rows=sum(part.layout.rows for part in parts))
    shape = (layout.grid.blocks, layout.rows)

    def stored(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.ascontiguousarray(values.T)

    codes = graph.initializer(
        f"{name}.codes", f"int{layout.bits}", (layout.columns, layout.rows), lambda: _signed(parts, layout)
    )
    scale = graph.initializer(f"{name}.scale", target.dtype, shape, lambda: stored(scales(parts, target.dtype)))
    offset = None
    if quant.offset is not None:
        offset = graph.initializer(f"{name}.offset", target.dtype, shape, lambda: stored(offsets(parts, target.dtype)))
    with graph.scope(name):
        weight = graph.op("DequantizeLinear", codes, scale, axis=BLOCK_AXIS, block_size=layout.block_size)
    for part in parts:
        correction = " + offset" if layout.has_offset else ""
        part.record.stored_as = name
        part.record.format = f"int{layout.bits}, block {layout.block_size}{correction}, transposed"
        share = part.layout.rows / layout.rows
        part.record.stored_bytes = int(share * sum(v.nbytes for v in (codes, scale, offset) if v is not None))
    return QdqMatrix(layout, weight, codes, scale, offset)


def _signed(parts: Sequence[Part], layout: Layout) -> npt.NDArray[np.uint8] | npt.NDArray[np.int8]:
    """Codes minus 2^(bits - 1), transposed: int8, or nibbles two to a byte."""
    codes = joined(part.pack().codes() for part in parts)
    numbers = pair_unpack(codes) if layout.bits == 4 else codes
    centred = np.ascontiguousarray((numbers ^ (1 << (layout.bits - 1))).reshape(layout.rows, layout.columns).T)
    return pair_pack(centred.reshape(-1)) if layout.bits == 4 else centred.view(np.int8)
