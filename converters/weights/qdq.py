"""A quantized matrix in standard ONNX: DequantizeLinear over blocks of a transposed matrix, which runtimes fuse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from converters.graph.graph import Graph, Value
from converters.target import Target
from converters.weights.matmulnbits import Part, joined, offsets, scales
from repack.bits import pair_pack, pair_unpack
from repack.block_quantized import Layout
from repack.quant_type import QuantType

BLOCK_AXIS = 0  # of [columns, rows]: the one layout in which ONNX Runtime finds its fast product


@dataclass(frozen=True)
class QdqMatrix:
    """Signed `codes` [columns, rows], `scale` and `offset` [blocks, rows]; or all with their rows first."""

    layout: Layout
    rows_first: bool
    codes: Value
    scale: Value
    offset: Value | None

    def weight(self, graph: Graph) -> Value:
        """The float matrix [columns, rows]."""
        assert not self.rows_first
        result: Value = graph.op(
            "DequantizeLinear", self.codes, self.scale, axis=BLOCK_AXIS, block_size=self.layout.block_size
        )
        return result


def emit_qdq(
    graph: Graph, name: str, quant: QuantType, parts: Sequence[Part], target: Target, rows_first: bool = False
) -> QdqMatrix:
    """Initializers of one matrix; all `parts` are of type `quant`. Rows stand first where they are looked up only."""
    layout = replace(parts[0].layout, rows=sum(part.layout.rows for part in parts))
    turn = 1 if rows_first else -1
    shape = (layout.rows, layout.block_shape.blocks)[::turn]

    def stored(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return values if rows_first else np.ascontiguousarray(values.T)

    codes = graph.initializer(
        f"{name}.codes",
        f"int{layout.bits}",
        (layout.rows, layout.columns)[::turn],
        lambda: _signed(parts, layout, rows_first),
    )
    scale = graph.initializer(f"{name}.scale", target.dtype, shape, lambda: stored(scales(parts, target.dtype)))
    offset = None
    if quant.offset is not None:
        offset = graph.initializer(f"{name}.offset", target.dtype, shape, lambda: stored(offsets(parts, target.dtype)))
    for part in parts:
        correction = " + offset" if layout.has_offset else ""
        part.record.stored_as = name
        part.record.format = f"int{layout.bits}, block {layout.block_size}{correction}"
        share = part.layout.rows / layout.rows
        part.record.stored_bytes = int(share * sum(v.nbytes for v in (codes, scale, offset) if v is not None))
    return QdqMatrix(layout, rows_first, codes, scale, offset)


def _signed(parts: Sequence[Part], layout: Layout, rows_first: bool) -> npt.NDArray[np.uint8] | npt.NDArray[np.int8]:
    """Codes minus 2^(bits - 1), mostly transposed: int8, or nibbles two to a byte."""
    codes = joined(part.pack().codes() for part in parts)
    numbers = pair_unpack(codes) if layout.bits == 4 else codes
    middle = np.uint8(1 << (layout.bits - 1))
    upright = (numbers ^ middle).reshape(layout.rows, layout.columns)
    centred = np.ascontiguousarray(upright if rows_first else upright.T)
    return pair_pack(centred.reshape(-1)) if layout.bits == 4 else centred.view(np.int8)
