"""How each module of a spec is emitted: a function per dataclass, registered where it stands."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from converters.blocks.context import Build
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import Module

M = TypeVar("M", bound=Module)


@dataclass(frozen=True)
class Place:
    """Where a module stands: the layer's number in the model, and the prefix of its tensors' names.

    `stream`: the layer's input as it is, in the activation type, where one of the layer's modules reads it.
    """

    layer: int
    prefix: str
    stream: Value | None = None


Emit = Callable[[Build, Value, M, Place, SequenceInputs], Value]
_EMITTERS: dict[type[Module], Emit[Any]] = {}


def emits(kind: type[M]) -> Callable[[Emit[M]], Emit[M]]:
    """Register how modules of a kind are emitted: [batch, sequence, hidden] -> [batch, sequence, hidden]."""

    def register(emit: Emit[M]) -> Emit[M]:
        _EMITTERS[kind] = emit
        return emit

    return register


def emit_module(b: Build, x: Value, module: Module, place: Place, inputs: SequenceInputs) -> Value:
    """A module's result, in the type in which it reads."""
    return _EMITTERS[type(module)](b, x, module, place, inputs)
