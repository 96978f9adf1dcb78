"""compressed-tensors: `pack-quantized` integers, one config group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from converters.sources.checkpoint.entries import Found, Method, Tensors, contradiction
from converters.sources.checkpoint.safetensors import Entry
from converters.sources.source import Order
from repack.block_quantized import Layout
from repack.errors import MobiusError
from repack.packed.compressed_tensors import BITS, PackedRows, packed_layout

NAME, FORMAT = "compressed-tensors", "pack-quantized"
PACKED, SCALE, SHAPE = ".weight_packed", ".weight_scale", ".weight_shape"
_SCALE_TYPES = ("F32", "F16", "BF16")
_HINT = f"supported: {NAME} {FORMAT}, symmetric, 4 and 8 bits, and plain weights; or convert a GGUF of the model"
# At run time these rotate, round or scale something beside the weights.
_EMPTY = ("kv_cache_scheme", "transform_config", "sparsity_config")


@dataclass(frozen=True)
class Packing:
    """How the quantized matrices are stored; `group` in columns, None for one group in each row."""

    bits: int
    group: int | None


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

    def matrix(self, order: Order, expert: int | None = None) -> PackedRows:
        """Its rows, in order."""
        assert expert is None
        codes, scales = (one.data.reshape(self.layout.rows, -1) for one in (self.codes, self.scales))
        return PackedRows(self.layout, codes, scales, self.scales.dtype, order)


def _claims(given: Mapping[str, Any], _: Tensors) -> bool:
    return given.get("quant_method") == NAME


def _gather(given: Mapping[str, Any], tensors: Tensors) -> Found:
    packing = packing_of(given)
    stems = {name.removesuffix(PACKED) for name in tensors if name.endswith(PACKED)}
    found: Found = {}
    for name, entry in tensors.items():
        stem, _, part = name.rpartition(".weight")
        if stem not in stems:
            found[name] = entry
        elif name.endswith(PACKED):
            found[f"{stem}.weight"] = _packed(stem, tensors, packing)
        elif part not in ("_scale", "_shape"):
            raise contradiction(f"{name} is there, which a symmetric matrix in its own order has not")
    return found


def packing_of(given: Mapping[str, Any]) -> Packing:
    """The one packing of a model.

    Raises:
        MobiusError: a variant that is not supported.
    """
    if given.get("format") != FORMAT:
        raise _refused("format", given.get("format"))
    for key in _EMPTY:
        if given.get(key):
            raise _refused(key, given[key])
    groups = list((given.get("config_groups") or {}).values())
    if len(groups) != 1:
        raise _refused("config_groups", f"{len(groups)} groups")
    return _one_group(groups[0])


def _one_group(group: Mapping[str, Any]) -> Packing:
    weights = group.get("weights") or {}
    wanted: dict[str, tuple[Any, ...]] = {
        "type": ("int",), "num_bits": BITS, "symmetric": (True,), "strategy": ("group", "channel"),
        "actorder": (None, False, "weight", "static"), "dynamic": (None, False),
    }  # fmt: skip
    for key, values in wanted.items():
        if weights.get(key) not in values:
            raise _refused(f"weights.{key}", weights.get(key))
    for key in ("input_activations", "output_activations"):
        if group.get(key):
            raise _refused(key, "set: activations are rounded too")
    size = weights.get("group_size")
    if weights["strategy"] == "channel":
        return Packing(weights["num_bits"], None)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise _refused("weights.group_size", size)
    return Packing(weights["num_bits"], size)


def _refused(key: str, value: Any) -> MobiusError:
    return MobiusError(f"{NAME}: {key} is {value!r:.60}, which cannot be read yet", _HINT)


def _packed(stem: str, tensors: Tensors, packing: Packing) -> PackedEntry:
    codes, scales, shape = (tensors.get(stem + part) for part in (PACKED, SCALE, SHAPE))
    if codes is None or scales is None or shape is None or scales.dtype not in _SCALE_TYPES or shape.dtype != "I64":
        raise contradiction(f"{stem} lacks {SCALE} or {SHAPE}, or has them in another type")
    rows, columns = (int(size) for size in np.ascontiguousarray(shape.data).view("<i8"))
    group = packing.group or columns
    layout = packed_layout(stem, rows, columns, group, packing.bits, scales.dtype)
    stored = (rows, columns * packing.bits // 32)
    if codes.dtype != "I32" or codes.shape != stored or columns * packing.bits % 32:
        raise contradiction(
            f"{stem}{PACKED} is {codes.dtype} {list(codes.shape)}, not I32 {list(stored)} as {packing.bits} bits need"
        )
    if scales.shape != (rows, columns // group):
        raise contradiction(f"{stem}{SCALE} is {list(scales.shape)}, not {[rows, columns // group]}")
    return PackedEntry(layout, group, codes, scales)


COMPRESSED_TENSORS = Method(NAME, _claims, (PACKED,), _gather)
