"""What every block needs at hand while a graph is built."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from converters.graph.graph import Graph, Value
from converters.spec import ModelSpec
from converters.target import Target
from converters.weights.weights import Weights


@dataclass
class Builder:
    """Graph, weights and choices; `memo` keeps values that several nodes share (block sums, rotary tables).

    `caches` counts the layers that have a cache so far.
    """

    graph: Graph
    weights: Weights
    spec: ModelSpec
    target: Target
    context_length: int
    memo: dict[Any, Any] = field(default_factory=dict)
    caches: int = 0

    @property
    def stream_dtype(self) -> str:
        """Type of the residual stream and of the norms on it."""
        return "float32" if self.spec.wide_residual else self.target.dtype

    def widen(self, x: Value) -> Value:
        """From the activation type to the residual stream's."""
        return x if self.stream_dtype == self.target.dtype else self.graph.cast(x, self.stream_dtype)

    def narrow(self, x: Value) -> Value:
        """From the residual stream's type to the activation type."""
        return x if self.stream_dtype == self.target.dtype else self.graph.cast(x, self.target.dtype)

    def number(self, name: str, value: float, dtype: str | None = None) -> Value:
        """A scalar constant, in the activation type unless `dtype` says otherwise."""
        kind = dtype or self.target.dtype
        return self.graph.constant(f"{name}_{value:.9g}_{kind}", np.array(value, kind))

    def shared(self, key: Any, make: Any) -> Any:
        """The value of `key`, made once."""
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]


@dataclass(frozen=True)
class Attend:
    """Inputs that layers share: lengths of the sequences and the mask's length, int32; and where tokens stand."""

    sequence_lengths: Value  # [batch], minus one
    total_length: Value  # scalar
    input_ids: Value  # [batch, sequence]
    mask: Value  # [batch, past and sequence]
    last_position: Value  # [batch], int64


def positions(b: Builder, attend: Attend) -> Value:
    """Position of each input token: int64 [batch, sequence].

    The last token's position minus (sequence - 1, ..., 1, 0), a piece of a constant: only the shape of the ids is
    looked at besides, so that a captured CUDA graph stays right when the sequence grows.
    """

    def make() -> Value:
        g = b.graph
        with g.scope("positions"):
            limit = g.constant("position_limit", np.array(b.context_length - 1, np.int64))
            end, down = (
                g.constant("position_end", np.array(-1, np.int64)),
                g.constant("position_down", np.array(-1, np.int64)),
            )
            behind = g.op("Range", limit, end, down)
            length = g.op("Slice", g.op("Shape", attend.input_ids), g.ints(1), g.ints(2))
            tail = g.op("Slice", behind, g.op("Neg", length), g.ints(b.context_length), g.ints(0))
            found: Value = g.op("Sub", g.op("Unsqueeze", attend.last_position, g.ints(1)), tail)
        return found

    made: Value = b.shared("positions", make)
    return made
