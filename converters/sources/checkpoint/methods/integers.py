"""Matrices of integers as the entries of a folder, and what the methods that have them share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.sources.checkpoint.entries import Found, MatrixEntry, QuantizedEntry, Tensors, contradiction
from converters.sources.checkpoint.safetensors import Entry
from repack.bits import read_floats
from repack.errors import MobiusError
from repack.packed.integers import F32, Integers, integer_matrix
from repack.packed.picked import Rows

SCALE_TYPES = ("F32", "F16", "BF16")


def gathered(tensors: Tensors, main: str, parts: Iterable[str], make: Callable[[str], QuantizedEntry]) -> Found:
    """Plain tensors as they are; what `make` gives of each STEM that has a tensor STEM`main`, as STEM.weight.

    The tensors STEM`parts` belong to it.
    """
    stems, known = {n.removesuffix(main) for n in tensors if n.endswith(main)}, {main, *parts}
    found: Found = {}
    own = {stem + part for stem in stems for part in known}
    for name, entry in tensors.items():
        if name not in own:
            found[name] = entry
        elif name.endswith(main) and name.removesuffix(main) in stems:
            found[f"{name.removesuffix(main)}.weight"] = make(name.removesuffix(main))
    return found


def quantized_entry(
    stem: str, sizes: tuple[int, int], group: int, scale_type: str, stored: Integers, entries: Sequence[Entry | None]
) -> MatrixEntry:
    """Of a matrix [rows, columns], made of these tensors.

    Raises:
        MobiusError: operators cannot take it.
    """
    whole = integer_matrix(stem, *sizes, group, scale_type, stored)
    kind = "_B" if stored.biases is not None else "_Z" if whole.layout.zero_points else ""
    size = sum(entry.data.size for entry in entries if entry is not None)
    return MatrixEntry(whole, f"INT{stored.bits}_G{group}_{scale_type}{kind}", size)


def wanted(stem: str, part: str, entry: Entry | None, dtypes: Sequence[str], shape: tuple[int, ...]) -> Entry:
    """The tensor, which must be there, of one of these types and of this shape.

    Raises:
        MobiusError: it is not.
    """
    if entry is None:
        raise contradiction(f"{stem} lacks {part}")
    if entry.dtype not in dtypes or entry.shape != shape:
        found = f"{entry.dtype} {list(entry.shape)}"
        raise contradiction(f"{stem}{part} is {found}, not {' or '.join(dtypes)} {list(shape)}")
    return entry


def word_matrix(stem: str, part: str, tensors: Tensors) -> Entry:
    """The tensor of codes, in 32-bit words along one of its two axes.

    Raises:
        MobiusError: it is otherwise.
    """
    codes = tensors[stem + part]
    if codes.dtype != "I32" or len(codes.shape) != 2 or 0 in codes.shape:
        raise contradiction(f"{stem}{part} is {codes.dtype} {list(codes.shape)}, not I32 of two axes")
    return codes


def group_size(stem: str, columns: int, given: int) -> int:
    """Columns of a scale; -1 stands for all.

    Raises:
        MobiusError: rows are no whole groups.
    """
    group = columns if given == -1 else given
    if group < 1 or columns % group:
        raise contradiction(f"{stem}: rows of {columns} weights are no groups of {group}")
    return group


def words(entry: Entry) -> npt.NDArray[np.int32]:
    """A tensor of 32-bit words, mapped."""
    return entry.data.view("<i4").reshape(entry.shape)


def upright_floats(entry: Entry) -> Callable[[Rows], F32]:
    """Of a tensor [rows, ..]."""
    raw = entry.data.reshape(entry.shape[0], -1)
    return lambda rows: read_floats(raw[rows], entry.dtype)


def turned_floats(entry: Entry) -> Callable[[Rows], F32]:
    """Of a tensor [.., rows]."""
    raw = entry.data.reshape(entry.shape[0], -1)
    return lambda rows: read_floats(raw, entry.dtype).T[rows]


def same_groups(stem: str, groups: npt.NDArray[np.int32], count: int, columns: int) -> None:
    """Refuse groups of unequal size, and numbers of groups that there are not.

    Raises:
        MobiusError: they are so.
    """
    if groups.min() < 0 or groups.max() >= count or (np.bincount(groups, minlength=count) != columns // count).any():
        raise contradiction(f"{stem}: its columns are not in {count} groups of one size")


def integer(given: Mapping[str, Any], key: str, method: str) -> int:
    """A whole number of a configuration.

    Raises:
        MobiusError: it is none.
    """
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, int):
        raise MobiusError(f"{method}: {key} is {value!r:.60}, not a whole number", "the configuration is damaged")
    return value
