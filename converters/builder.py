"""What every block needs at hand while a graph is built."""

from dataclasses import dataclass, field
from typing import Any

from converters.graph import Graph, Value
from converters.spec import ModelSpec
from converters.target import Target
from converters.weights import Weights


@dataclass
class Builder:
    """Graph, weights and choices; `memo` keeps values that several nodes share (block sums, rotary tables)."""

    graph: Graph
    weights: Weights
    spec: ModelSpec
    target: Target
    context_length: int
    memo: dict[Any, Any] = field(default_factory=dict)

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

    def shared(self, key: Any, make: Any) -> Any:
        """The value of `key`, made once."""
        if key not in self.memo:
            self.memo[key] = make()
        return self.memo[key]


@dataclass(frozen=True)
class Attend:
    """Inputs that attention layers share: lengths of the sequences and the mask's length, int32."""

    sequence_lengths: Value  # [batch], minus one
    total_length: Value  # scalar
