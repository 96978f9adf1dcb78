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
