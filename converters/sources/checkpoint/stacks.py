"""Experts that stand in a folder as matrices of their own: one stack for each projection, as GGUF has them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from converters.sources.checkpoint.entries import Found, QuantizedEntry, contradiction
from converters.sources.checkpoint.safetensors import Entry
from converters.sources.source import Order
from repack.block_quantized import BlockMatrix

_EXPERT = re.compile(r"(?P<stem>.+\.experts)\.(?P<number>\d{1,5})\.(?P<part>.+)")


@dataclass(frozen=True)
class Stack:
    """Matrices of one shape and type, by the numbers of their experts; nothing is copied."""

    members: tuple[Entry | QuantizedEntry, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """[experts, rows, columns]."""
        return len(self.members), *self.members[0].shape

    @property
    def type_name(self) -> str:
        """Of each."""
        return type_of(self.members[0])

    @property
    def nbytes(self) -> int:
        """Of all."""
        return sum(size_of(one) for one in self.members)

    def matrix(self, order: Order, expert: int | None = None) -> BlockMatrix | None:
        """One expert's, its rows in order; None for floats."""
        assert expert is not None, "experts are read one by one"
        member = self.members[expert]
        return None if isinstance(member, Entry) else member.matrix(order)

    def raw(self, expert: int) -> npt.NDArray[np.uint8]:
        """The bytes of one expert's floats: uint8 [rows, bytes of a row]."""
        member = self.members[expert]
        assert isinstance(member, Entry)
        return member.data.reshape(member.shape[0], -1)


def type_of(entry: Entry | QuantizedEntry) -> str:
    """Equal only where matrices can stand in one."""
    return entry.dtype if isinstance(entry, Entry) else entry.type_name


def size_of(entry: Entry | QuantizedEntry) -> int:
    """Bytes of all its tensors."""
    return entry.data.size if isinstance(entry, Entry) else entry.nbytes


def cut_stack(entry: Entry) -> list[Entry]:
    """The parts of a tensor along its first axis."""
    return [Entry(entry.dtype, entry.shape[1:], part) for part in parts_of(entry)]


def parts_of(entry: Entry) -> npt.NDArray[np.uint8]:
    """The bytes of each of them: uint8 [parts, bytes]."""
    return entry.data.reshape(entry.shape[0], -1)


def stacked(found: Mapping[str, Entry | QuantizedEntry]) -> Found:
    """With the matrices of experts, STEM.experts.NUMBER.PART, as stacks STEM.experts.PART.

    Raises:
        MobiusError: experts are missing, or unlike each other.
    """
    made: Found = {}
    members: dict[str, dict[int, Entry | QuantizedEntry]] = {}
    for name, entry in found.items():
        match = _EXPERT.fullmatch(name)
        if match is None:
            made[name] = entry
        else:
            members.setdefault(f"{match['stem']}.{match['part']}", {})[int(match["number"])] = entry
    for name, own in members.items():
        if sorted(own) != list(range(len(own))):
            raise contradiction(f"{name}: of {max(own) + 1} experts {max(own) + 1 - len(own)} are missing")
        if len({(type_of(entry), entry.shape) for entry in own.values()}) != 1:
            raise contradiction(f"{name}: experts have different types or shapes")
        made[name] = Stack(tuple(own[number] for number in range(len(own))))
    return made
