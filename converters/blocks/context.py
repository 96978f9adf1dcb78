"""What blocks have at hand beside the graph: the model's numbers and its weights."""

from dataclasses import dataclass

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.states import BATCH, State
from converters.spec import ModelSpec
from converters.weights.weights import Weights

WIDE = "float32"  # of recurrent states, of what decays them, and of their sums, whatever the activation type is


@dataclass
class Build:
    """A model under construction; `c` is what operators and weight formats see of it.

    `layer_inputs`: of each layer what it has of the per-layer embedding, [batch, sequence, width].
    """

    c: GraphContext
    spec: ModelSpec
    weights: Weights
    layer_inputs: tuple[Value, ...] = ()

    @property
    def residual_dtype(self) -> str:
        """Type of the residual stream and of the norms on it."""
        return "float32" if self.spec.wide_residual else self.c.target.dtype

    def to_residual(self, x: Value) -> Value:
        """From the activation type to the residual stream's."""
        return x if self.residual_dtype == self.c.target.dtype else self.c.graph.cast(x, self.residual_dtype)

    def to_activation(self, x: Value) -> Value:
        """From the residual stream's type to the activation type."""
        return x if self.residual_dtype == self.c.target.dtype else self.c.graph.cast(x, self.c.target.dtype)

    def fixed_state(self, layer: int, part: str, *sizes: int, dtype: str = WIDE) -> State:
        """Declare a state of a fixed size, [batch, *sizes]."""
        shape: dict[str, tuple[int | str, ...]] = {part: (BATCH, *sizes)}
        (state,) = self.c.add_states(layer, shape, in_place=self.c.operators.states_in_place, dtype=dtype)
        return state

    @property
    def mixing_dtype(self) -> str:
        """Type of what convolutions and delta rules read: kernels sum in float32 whatever it is.

        Not bfloat16, which numpy has not: sessions copy the state of a convolution.
        """
        narrow = self.c.target.recurrent_kernels and self.c.target.dtype != "bfloat16"
        return self.c.target.dtype if narrow else WIDE

    def to_mixing(self, x: Value) -> Value:
        """From the activation type to that of convolutions and delta rules."""
        return x if self.mixing_dtype == self.c.target.dtype else self.wide(x)

    def from_mixing(self, x: Value) -> Value:
        """From the type of convolutions and delta rules to the activation type."""
        return x if self.mixing_dtype == self.c.target.dtype else self.narrow(x)

    def mixing_to_wide(self, x: Value) -> Value:
        """From the type of convolutions and delta rules to that of recurrent states."""
        return x if self.mixing_dtype == WIDE else self.wide(x)

    def wide(self, x: Value) -> Value:
        """From the activation type to that of recurrent states."""
        return x if self.c.target.dtype == WIDE else self.c.graph.cast(x, WIDE)

    def narrow(self, x: Value) -> Value:
        """From the type of recurrent states to the activation type."""
        return x if self.c.target.dtype == WIDE else self.c.graph.cast(x, self.c.target.dtype)
