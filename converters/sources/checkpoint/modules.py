"""Tensors of one quantized matrix, put together under the name that its plain weight would have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from converters.sources.checkpoint.quantization import Packing, packing_of
from converters.sources.checkpoint.safetensors import Entry
from converters.sources.source import Order
from repack.block_quantized import Layout
from repack.errors import MobiusError
from repack.packed.compressed_tensors import PackedRows, packed_layout

PACKED, SCALE, SHAPE = ".weight_packed", ".weight_scale", ".weight_shape"
_SCALE_TYPES = ("F32", "F16", "BF16")
_HINT = "the configuration and the tensors contradict each other; the folder is not convertible as it is"


@dataclass(frozen=True)
class PackedEntry:
    """A quantized matrix: its codes and scales as stored."""

    layout: Layout
    group: int
    codes: Entry
    scales: Entry

    @property
    def shape(self) -> tuple[int, int]:
        """[rows, columns]."""
        return self.layout.rows, self.layout.columns

    @property
    def type_name(self) -> str:
        """Equal only where matrices can stand in one."""
        return f"INT{self.layout.bits}_G{self.group}_{self.scales.dtype}"

    @property
    def nbytes(self) -> int:
        """Of codes and scales."""
        return self.codes.data.size + self.scales.data.size

    def matrix(self, order: Order) -> PackedRows:
        """Its rows, in order."""
        codes, scales = (one.data.reshape(self.layout.rows, -1) for one in (self.codes, self.scales))
        return PackedRows(self.layout, codes, scales, self.scales.dtype, order)


def gather_modules(tensors: Mapping[str, Entry], config: Mapping[str, Any]) -> dict[str, Entry | PackedEntry]:
    """Plain tensors as they are, quantized ones as `NAME.weight`.

    Raises:
        MobiusError: a method that cannot be read, or tensors that are not as the configuration says.
    """
    packing = packing_of(config)
    stems = {name.removesuffix(PACKED) for name in tensors if name.endswith(PACKED)}
    if (packing is None) == bool(stems):
        said = "names no method of quantization" if packing is None else "names a method of quantization"
        raise MobiusError(f"config.json {said}, but {len(stems)} tensors are packed", _HINT)
    found: dict[str, Entry | PackedEntry] = {}
    for name, entry in tensors.items():
        stem, _, part = name.rpartition(".weight")
        if stem not in stems:
            found[name] = entry
        elif name.endswith(PACKED) and packing is not None:
            found[f"{stem}.weight"] = _packed(stem, tensors, packing)
        elif part not in ("_scale", "_shape"):
            raise MobiusError(f"{name} is there, which a symmetric matrix in its own order has not", _HINT)
    return found


def _packed(stem: str, tensors: Mapping[str, Entry], packing: Packing) -> PackedEntry:
    codes, scales, shape = (tensors.get(stem + part) for part in (PACKED, SCALE, SHAPE))
    if codes is None or scales is None or shape is None or scales.dtype not in _SCALE_TYPES or shape.dtype != "I64":
        raise MobiusError(f"{stem} lacks {SCALE} or {SHAPE}, or has them in another type", _HINT)
    rows, columns = (int(size) for size in np.ascontiguousarray(shape.data).view("<i8"))
    group = packing.group or columns
    layout = packed_layout(stem, rows, columns, group, packing.bits, scales.dtype)
    stored = (rows, columns * packing.bits // 32)
    if codes.dtype != "I32" or codes.shape != stored or columns * packing.bits % 32:
        raise MobiusError(
            f"{stem}{PACKED} is {codes.dtype} {list(codes.shape)}, not I32 {list(stored)} as {packing.bits} bits need",
            _HINT,
        )
    if scales.shape != (rows, columns // group):
        raise MobiusError(f"{stem}{SCALE} is {list(scales.shape)}, not {[rows, columns // group]}", _HINT)
    return PackedEntry(layout, group, codes, scales)
