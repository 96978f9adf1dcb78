"""Operators of the ONNX standard alone: what any runtime has."""

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import (
    ConvolutionInputs,
    DeltaInputs,
    KeyedInputs,
    RateInputs,
    ReplaceInputs,
    ScanInputs,
    SelectiveInputs,
)
from converters.operators import recurrent_parts as parts
from converters.operators.chunked_delta import chunked_delta
from converters.operators.chunked_scan import chunked_scan
from converters.operators.keyed_scan import keyed_delta, keyed_scan, replacing_scan
from converters.operators.onnx_attention import OnnxAttention
from converters.operators.token_scan import token_scan
from converters.target import Target


class OnnxOperators:
    """Opset 23 is the first with Attention, RotaryEmbedding and RMSNormalization."""

    opset = 23
    adds_before_norm = False
    attention = OnnxAttention()
    states_in_place = False

    def convolve(self, c: GraphContext, given: ConvolutionInputs, past: Value) -> tuple[Value, Value]:
        """Products and sums."""
        return parts.shifted_products(c, given, past)

    def delta_rates(self, c: GraphContext, given: RateInputs) -> tuple[Value, Value]:
        """Softplus and Sigmoid."""
        return parts.delta_rates(c, given)

    def softplus(self, c: GraphContext, x: Value, bias: Value) -> Value:
        """Add and Softplus."""
        return parts.softplus(c, x, bias)

    def gated_shape(self, target: Target, heads: int, dim: int, value_dim: int) -> tuple[int, ...]:
        """Keys before values."""
        return heads, dim, value_dim

    def gated_delta(self, c: GraphContext, given: DeltaInputs, past: Value) -> tuple[Value, Value]:
        """A Loop over chunks; a Scan over tokens where keys have decays."""
        return (keyed_delta if given.keyed else chunked_delta)(c, parts.delta_by_heads(c, given), past)

    def replacing_delta(self, c: GraphContext, given: ReplaceInputs, past: Value) -> tuple[Value, Value]:
        """A Scan over tokens."""
        return replacing_scan(c, given, past)

    def gated_scan(self, c: GraphContext, given: ScanInputs, past: Value) -> tuple[Value, Value]:
        """A Loop over chunks."""
        return chunked_scan(c, given, past)

    def keyed_scan(self, c: GraphContext, given: KeyedInputs, past: Value) -> tuple[Value, Value]:
        """A Scan over tokens."""
        return keyed_scan(c, given, past)

    def selective_shape(self, target: Target, channels: int, size: int) -> tuple[int, ...]:
        """What `token_scan` takes."""
        return (size, channels)

    def selective_scan(self, c: GraphContext, given: SelectiveInputs, past: Value) -> tuple[Value, Value]:
        """A Scan over tokens."""
        return token_scan(c, given, past, carries=True)

    def rms_norm(self, c: GraphContext, x: Value, weight: Value, epsilon: float) -> Value:
        """RMSNormalization."""
        return c.graph.op("RMSNormalization", x, weight, axis=-1, epsilon=epsilon, stash_type=1)

    def add_norm(
        self, c: GraphContext, residual: Value, x: Value, weight: Value, bias: Value | None, kind: str, epsilon: float
    ) -> tuple[Value, Value]:
        """Not there."""
        raise NotImplementedError

    def norm_and_gate(self, c: GraphContext, x: Value, weight: Value, gate: Value, epsilon: float) -> Value:
        """RMSNormalization, Sigmoid and products."""
        return parts.norm_and_gate(c, x, weight, gate, epsilon)

    def silu(self, c: GraphContext, x: Value) -> Value:
        """Sigmoid and Mul."""
        return c.graph.op("Mul", x, c.graph.op("Sigmoid", x))

    def gelu_tanh(self, c: GraphContext, x: Value) -> Value:
        """Gelu."""
        return c.graph.op("Gelu", x, approximate="tanh")

    def matmul_transposed(self, c: GraphContext, x: Value, weight: Value) -> Value:
        """Transpose, which a session folds, and MatMul."""
        return c.graph.op("MatMul", x, c.graph.op("Transpose", weight, perm=[1, 0]))

    def rotary(
        self, c: GraphContext, x: Value, tables: tuple[Value, Value], positions: Value, heads: int, dim: int
    ) -> Value:
        """RotaryEmbedding."""
        return c.graph.op(
            "RotaryEmbedding", x, *tables, positions, interleaved=0, num_heads=heads, rotary_embedding_dim=dim
        )
