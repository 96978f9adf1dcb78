"""A matrix of a folder in storage `small`: planes of the GGUF's blocks, which else a session unfolds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from converters.sources.onnx_folder.arrays import FolderArrays
from converters.weights.records import TensorRecord
from repack.bits import pair_unpack
from repack.block_quantized import DecodedMatrix, Layout
from repack.ops import NumpyOps
from repack.quant_type import Decoder, QuantType


@dataclass(frozen=True)
class StoredPlanes(DecodedMatrix):
    """`planes` [rows, GGUF blocks, numbers of a block], two to a byte where they have 4 bits."""

    layout: Layout
    quant: QuantType
    planes: Mapping[str, npt.NDArray[Any]]

    def cut(self, rows: tuple[int, int], columns: tuple[int, int]) -> "StoredPlanes":
        """Views of the same arrays."""
        layout = replace(self.layout, rows=rows[1] - rows[0], columns=columns[1] - columns[0])
        blocks = slice(*(end // self.quant.gguf_block[0] for end in columns))
        return replace(self, layout=layout, planes={k: v[slice(*rows), blocks] for k, v in self.planes.items()})

    def _decoded(self, decode: Decoder, ops: NumpyOps) -> npt.NDArray[Any]:
        plain = {k: pair_unpack(v) if self.quant.planes[k].dtype == "uint4" else v for k, v in self.planes.items()}
        found: npt.NDArray[Any] = decode(ops, plain, self.layout.block_shape)
        return found


def stored_planes(
    quant: QuantType, arrays: FolderArrays, layout: Layout, record: TensorRecord, expert: int | None
) -> StoredPlanes:
    """The rows of one tensor, or of one of its stack: all rows of an expert stand below those of the one before."""
    blocks = layout.columns // quant.gguf_block[0]

    def own(name: str) -> npt.NDArray[Any]:
        plane = quant.planes[name]
        size = plane.count // 2 if plane.dtype == "uint4" else plane.count
        whole = arrays.array(f"{record.stored_as}.{name}").reshape(-1, blocks, size)
        first = record.first_row + (0 if expert is None else expert * (len(whole) // record.experts))
        return whole[first : first + layout.rows]

    return StoredPlanes(layout, quant, {name: own(name) for name in quant.planes})
