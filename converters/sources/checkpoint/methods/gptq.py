"""GPTQ, versions 1 and 2: 2, 3, 4 and 8 bits with zero points, columns in any order of groups."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.sources.checkpoint.entries import Found, MatrixEntry, Method, Tensors, contradiction
from converters.sources.checkpoint.methods.integers import (
    SCALE_TYPES,
    gathered,
    group_size,
    integer,
    quantized_entry,
    same_groups,
    turned_floats,
    wanted,
    word_matrix,
    words,
)
from converters.sources.checkpoint.safetensors import Entry
from repack.bits import U8
from repack.errors import MobiusError
from repack.packed.compressed_tensors import sorted_groups
from repack.packed.gptq import stored_zeros, turned_stream
from repack.packed.integers import BITS, Integers
from repack.packed.picked import Rows

CODES, ZEROS, SCALES, ORDER = ".qweight", ".qzeros", ".scales", ".g_idx"
VERSIONS = {"gptq": 1, "gptq_v2": 2}


def gather(given: Mapping[str, Any], tensors: Tensors) -> Found:
    """Quantized matrices put together.

    Raises:
        MobiusError: a variant that is not supported, or tensors that are not as the configuration says.
    """
    form = given.get("checkpoint_format", "gptq")
    if form not in VERSIONS or given.get("dynamic") or given.get("pack_dtype", "int32") != "int32":
        known = ", ".join(VERSIONS)
        raise MobiusError(
            f"GPTQ: checkpoint_format {form!r:.40} or its rules for modules cannot be read", f"supported: {known}"
        )
    return put_together(given, tensors, VERSIONS[form])


def put_together(given: Mapping[str, Any], tensors: Tensors, version: int) -> Found:
    """As `gather`, by the version of zero points."""
    bits, group = (integer(given, key, "GPTQ") for key in ("bits", "group_size"))
    if bits not in BITS:
        raise MobiusError(f"GPTQ: {bits} bits cannot be read", f"supported: {', '.join(map(str, BITS))} bits")

    def make(stem: str) -> MatrixEntry:
        made = _packed(stem, tensors, bits, group, version)
        if given.get("sym") is True and made.whole.layout.zero_points:
            raise contradiction(
                f"{stem}: read as version {version}, zero points are not symmetric, as sym says they are"
            )
        return made

    return gathered(tensors, CODES, (ZEROS, SCALES, ORDER), make)


def _packed(stem: str, tensors: Tensors, bits: int, given_group: int, version: int) -> MatrixEntry:
    codes = word_matrix(stem, CODES, tensors)
    columns, rows = codes.shape[0] * 32 // bits, codes.shape[1]
    if codes.shape[0] * 32 % bits or rows * bits % 32:
        raise contradiction(f"{stem}{CODES} is {codes.dtype} {list(codes.shape)}, no words of {bits} bits")
    group = group_size(stem, columns, given_group)
    groups = columns // group
    zeros = wanted(stem, ZEROS, tensors.get(stem + ZEROS), ["I32"], (groups, rows * bits // 32))
    scales = wanted(stem, SCALES, tensors.get(stem + SCALES), SCALE_TYPES, (groups, rows))
    stored = Integers(
        bits, partial(turned_stream, words(codes)), turned_floats(scales), _zeros(stem, words(zeros), bits, version),
        columns=_order(stem, tensors.get(stem + ORDER), columns, groups),
    )  # fmt: skip
    entries = [codes, zeros, scales, tensors.get(stem + ORDER)]
    return quantized_entry(stem, (rows, columns), group, scales.dtype, stored, entries)


def _zeros(stem: str, stored: npt.NDArray[np.int32], bits: int, version: int) -> Callable[[Rows], U8] | None:
    """How zero points are read, which version 1 stores less one; None where all are in the middle."""
    most, numbers = (1 << bits) - 1, stored_zeros(stored, bits)
    if version == 1 and (numbers == most).any():
        count = int((numbers == most).sum())
        raise MobiusError(
            f"{stem}{ZEROS}: {count} zero points of {most}, which programs read as 0 or as {most + 1} in version 1",
            "nobody can tell which is meant: take the model in version 2, or a GGUF of it",
        )
    if (numbers + np.uint8(2 - version) == 1 << (bits - 1)).all():
        return None

    def read(rows: Rows) -> U8:
        found: U8 = (stored_zeros(stored, bits) + np.uint8(2 - version)).T[rows]
        return found

    return read


def _order(stem: str, entry: Entry | None, columns: int, groups: int) -> npt.NDArray[np.intp] | None:
    if entry is None:
        return None
    numbers = words(wanted(stem, ORDER, entry, ["I32"], (columns,)))
    same_groups(stem, numbers, groups, columns)
    return sorted_groups(numbers)


def _claims(given: Mapping[str, Any], _: Tensors) -> bool:
    return given.get("quant_method") == "gptq"


GPTQ = Method("GPTQ", _claims, (CODES,), gather)
