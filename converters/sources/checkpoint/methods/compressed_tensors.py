"""compressed-tensors, `pack-quantized`: integers of 2, 3, 4 and 8 bits, with zero points and column orders."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from converters.sources.checkpoint.entries import Found, MatrixEntry, Method, Tensors, contradiction
from converters.sources.checkpoint.methods.integers import (
    SCALE_TYPES,
    gathered,
    quantized_entry,
    same_groups,
    upright_floats,
    wanted,
    words,
)
from converters.sources.checkpoint.safetensors import Entry
from repack.bits import U8
from repack.errors import MobiusError
from repack.packed.compressed_tensors import row_stream, row_zeros, sorted_groups
from repack.packed.integers import BITS, F32, Integers
from repack.packed.picked import Rows

NAME, FORMAT = "compressed-tensors", "pack-quantized"
PACKED, SCALE, SHAPE, ZEROS, ORDER = (f".weight_{part}" for part in ("packed", "scale", "shape", "zero_point", "g_idx"))
_HINT = "convert a GGUF of the model instead"
_EMPTY = ("kv_cache_scheme", "transform_config", "sparsity_config")  # these change what runs beside the weights
_LINEAR = "Linear"  # the class that targets and ignored modules may be named by


@dataclass(frozen=True)
class Scheme:
    """How the matrices of a config group are stored; `group` in columns, 0 for whole rows, None for whole matrices."""

    targets: tuple[str, ...]
    bits: int
    symmetric: bool
    group: int | None
    ordered: bool


def gather(given: Mapping[str, Any], tensors: Tensors) -> Found:
    """Quantized matrices put together.

    Raises:
        MobiusError: a variant that is not supported, or tensors that are not as the configuration says.
    """
    schemes, ignored = _schemes(given), tuple(given.get("ignore") or ())

    targets = tuple(target for scheme in schemes for target in scheme.targets)

    def make(stem: str) -> MatrixEntry:
        named_by(stem, targets, ignored)
        return _packed(stem, tensors, next(scheme for scheme in schemes if _named(stem, scheme.targets)))

    found = gathered(tensors, PACKED, (SCALE, SHAPE, ZEROS, ORDER), make)
    check_targets(found, targets, ignored)
    return found


def named_by(stem: str, targets: tuple[str, ...], ignored: tuple[str, ...]) -> None:
    """Refuse a packed matrix that the configuration leaves out.

    Raises:
        MobiusError: it does.
    """
    if not _named(stem, targets) or _named(stem, ignored):
        raise contradiction(f"{stem} is packed, but the configuration leaves it out")


def check_targets(found: Found, targets: tuple[str, ...], ignored: tuple[str, ...]) -> None:
    """Refuse matrices that are not packed though the configuration says so.

    Raises:
        MobiusError: there are some.
    """
    for name, entry in found.items():
        stem = name.removesuffix(".weight")
        plain = isinstance(entry, Entry) and len(entry.shape) == 2 and "embed" not in stem and stem != name
        if plain and not _named(stem, ignored) and _named(stem, targets):
            raise contradiction(f"{name} is not packed, but the configuration does not leave it out")


def _named(stem: str, patterns: tuple[str, ...]) -> bool:
    """Whether a matrix is named: by its whole name, by its class, or by an expression that fits its beginning."""
    return any(
        re.match(one[3:], stem) is not None if one.startswith("re:") else one in (stem, _LINEAR) for one in patterns
    )


def _schemes(given: Mapping[str, Any]) -> list[Scheme]:
    formats = {given.get("format")} - {"mixed-precision"}
    groups = list((given.get("config_groups") or {}).values())
    formats |= {group.get("format") or FORMAT for group in groups}
    if formats != {FORMAT}:
        raise _refused("format", next(one for one in formats if one != FORMAT))
    check_rest(given)
    if not groups:
        raise _refused("config_groups", groups)
    return [_scheme(group) for group in groups]


def check_rest(given: Mapping[str, Any]) -> None:
    """Refuse what changes more than weights.

    Raises:
        MobiusError: there is such a thing.
    """
    for key in _EMPTY:
        if given.get(key):
            raise _refused(key, given[key])


def _scheme(group: Mapping[str, Any]) -> Scheme:
    weights = group.get("weights") or {}
    allowed: dict[str, tuple[Any, ...]] = {
        "type": ("int",), "num_bits": BITS, "symmetric": (True, False), "strategy": ("group", "channel", "tensor"),
        "actorder": (None, False, True, "weight", "static", "group", "dynamic"), "dynamic": (None, False),
    }  # fmt: skip
    for key, values in allowed.items():
        if weights.get(key) not in values:
            raise _refused(f"weights.{key}", weights.get(key))
    for key in ("input_activations", "output_activations"):
        if group.get(key):
            raise _refused(key, "set: activations are rounded too")
    size, strategy = weights.get("group_size"), weights["strategy"]
    if strategy == "group" and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise _refused("weights.group_size", size)
    columns, targets = {"group": size, "channel": 0, "tensor": None}[strategy], group.get("targets") or (_LINEAR,)
    ordered = weights.get("actorder") in (True, "group", "dynamic")
    return Scheme(tuple(targets), weights["num_bits"], weights["symmetric"], columns, ordered)


def _packed(stem: str, tensors: Tensors, scheme: Scheme) -> MatrixEntry:
    shape, bits = wanted(stem, SHAPE, tensors.get(stem + SHAPE), ["I64"], (2,)), scheme.bits
    rows, columns = (int(size) for size in np.ascontiguousarray(shape.data).view("<i8"))
    if not 0 < rows < 2**31 or not 0 < columns < 2**31:
        raise contradiction(f"{stem}{SHAPE} is {rows}, {columns}")
    group = scheme.group or columns
    count = -(-columns // group)
    codes = wanted(stem, PACKED, tensors.get(stem + PACKED), ["I32"], (rows, -(-columns * bits // 32)))
    sizes = (1,) if scheme.group is None else (rows, count)
    scales = wanted(stem, SCALE, tensors.get(stem + SCALE), SCALE_TYPES, sizes)
    zeros = _zeros(stem, tensors.get(stem + ZEROS), scheme, rows, count)
    order = _order(stem, tensors, scheme, columns, count)
    read = partial(_stream, codes, columns, bits), partial(_scales, scales, rows, count)
    stored = Integers(bits, *read, zeros, columns=order)
    entries = [tensors.get(stem + part) for part in (PACKED, SCALE, SHAPE, ZEROS, ORDER)]
    return quantized_entry(stem, (rows, columns), group, scales.dtype, stored, entries)


def _stream(codes: Entry, columns: int, bits: int, rows: Rows) -> U8:
    return row_stream(words(codes), rows, columns, bits)


def _scales(scales: Entry, count: int, groups: int, rows: Rows) -> F32:
    """Those of a whole matrix are everybody's."""
    if len(scales.shape) == 1:
        one = upright_floats(scales)(slice(0, 1))
        return np.broadcast_to(one, (len(np.arange(count)[rows]), groups))
    return upright_floats(scales)(rows)


def _zeros(stem: str, entry: Entry | None, scheme: Scheme, rows: int, groups: int) -> Any:
    """How zero points are read; None where there are none."""
    if scheme.symmetric:
        if entry is not None:
            raise contradiction(f"{stem}{ZEROS} is there, which a symmetric matrix has not")
        return None
    if scheme.group is None:
        whole = wanted(stem, ZEROS, entry, ["I8"], (1,))
        value = int(whole.data.view(np.int8)[0]) + (1 << (scheme.bits - 1))
        return lambda chosen: np.full((len(np.arange(rows)[chosen]), groups), value, np.uint8)
    stored = wanted(stem, ZEROS, entry, ["I32"], (-(-rows * scheme.bits // 32), groups))
    return lambda chosen: row_zeros(words(stored), chosen, scheme.bits)


def _order(stem: str, tensors: Tensors, scheme: Scheme, columns: int, groups: int) -> Any:
    entry = tensors.get(stem + ORDER)
    if entry is None:
        return None
    if not scheme.ordered:
        raise contradiction(f"{stem}{ORDER} is there, which a matrix in its own order has not")
    numbers = words(wanted(stem, ORDER, entry, ["I32"], (columns,)))
    if (numbers == -1).all():
        return None
    same_groups(stem, numbers, groups, columns)
    return sorted_groups(numbers)


def _refused(key: str, value: Any) -> MobiusError:
    return MobiusError(f"{NAME}: {key} is {value!r:.60}, which cannot be read yet", _HINT)


def _claims(given: Mapping[str, Any], _: Tensors) -> bool:
    return given.get("quant_method") == NAME


COMPRESSED_TENSORS = Method(NAME, _claims, (PACKED,), gather)
