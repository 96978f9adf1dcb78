"""A quantized matrix of a checkpoint, whatever its method: what `CheckpointFolder` has to know of one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from converters.sources.checkpoint.safetensors import Entry
from converters.sources.source import Order
from repack.block_quantized import BlockMatrix
from repack.errors import MobiusError
from repack.packed.picked import PickedMatrix

Tensors = Mapping[str, Entry]
CONTRADICTION = "the configuration and the tensors contradict each other; the folder is not convertible as it is"


class QuantizedEntry(Protocol):
    """Several tensors of a folder that are one matrix, or one stack of matrices."""

    @property
    def shape(self) -> tuple[int, ...]:
        """[rows, columns], or [experts, rows, columns]."""

    @property
    def type_name(self) -> str:
        """Equal only where matrices can stand in one."""

    @property
    def nbytes(self) -> int:
        """Of all its tensors."""

    def matrix(self, order: Order, expert: int | None = None) -> BlockMatrix | None:
        """Its rows, in order; of a stack those of one expert, None for floats."""


@dataclass(frozen=True)
class MatrixEntry:
    """A quantized matrix; `type_name` is equal only where matrices can stand in one, `nbytes` of all its tensors."""

    whole: PickedMatrix
    type_name: str
    nbytes: int

    @property
    def shape(self) -> tuple[int, int]:
        """[rows, columns]."""
        return self.whole.layout.rows, self.whole.layout.columns

    def matrix(self, order: Order, expert: int | None = None) -> PickedMatrix:
        """Its rows, in order."""
        assert expert is None
        return self.whole if order is None else replace(self.whole, rows=order)


Found = dict[str, Entry | QuantizedEntry]


@dataclass(frozen=True)
class Method:
    """A method of quantization.

    Attributes:
        name: for people.
        claims: whether a quantization_config, beside these tensors, is of this method.
        endings: of names that only tensors of such methods have.
        gather: the tensors with those of each quantized matrix put together as `NAME.weight`; raises MobiusError for
            what cannot be read, and for tensors that are not as the configuration says.
    """

    name: str
    claims: Callable[[Mapping[str, Any], Tensors], bool]
    endings: tuple[str, ...]
    gather: Callable[[Mapping[str, Any], Tensors], Found]


def contradiction(message: str) -> MobiusError:
    """The error for tensors that are not as the configuration says."""
    return MobiusError(message, CONTRADICTION)
