"""What every block needs at hand while a graph is built."""

from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir

from converters.graph import Graph
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

    sequence_lengths: ir.Value  # [batch], minus one
    total_length: ir.Value  # scalar
