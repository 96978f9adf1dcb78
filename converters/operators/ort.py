"""ONNX Runtime's own operators of com.microsoft, fused and with a cache in place."""

from converters.graph.context import GraphContext
from converters.graph.graph import MICROSOFT, Value
from converters.graph.recurrent import (
    ConvolutionInputs,
    DeltaInputs,
    KeyedInputs,
    RateInputs,
    ReplaceInputs,
    ScanInputs,
    SelectiveInputs,
)
from converters.operators import recurrent_kernels as kernels
from converters.operators import recurrent_parts as parts
from converters.operators.group_query_attention import GroupQueryAttention
from converters.operators.long_scan import long_scan
from converters.operators.token_scan import token_scan
from converters.operators.two_steps import second_steps, two_steps
from converters.target import Target


class OrtOperators:
    """Opset 21 is the first with 4-bit Cast and blocked DequantizeLinear; onnxruntime-genai writes the same."""

    opset = 21
    adds_before_norm = True
    attention = GroupQueryAttention()
    states_in_place = True

    def convolve(self, c: GraphContext, given: ConvolutionInputs, past: Value) -> tuple[Value, Value]:
        """CausalConvWithState, or products and sums."""
        return (kernels.causal_conv if _kernels(c) else parts.shifted_products)(c, given, past)

    def delta_rates(self, c: GraphContext, given: RateInputs) -> tuple[Value, Value]:
        """LinearAttentionGate, or Softplus and Sigmoid."""
        return (kernels.delta_rates if _kernels(c) else parts.delta_rates)(c, given)

    def softplus(self, c: GraphContext, x: Value, bias: Value) -> Value:
        """LinearAttentionGate, or Add and Softplus."""
        return (kernels.softplus if _kernels(c) else parts.softplus)(c, x, bias)

    def gated_shape(self, target: Target, heads: int, dim: int, value_dim: int) -> tuple[int, ...]:
        """GatedDeltaNet has values before keys."""
        return (heads, value_dim, dim) if target.recurrent_kernels else (heads, dim, value_dim)

    def gated_delta(self, c: GraphContext, given: DeltaInputs, past: Value) -> tuple[Value, Value]:
        """GatedDeltaNet, or LinearAttention, also where keys have decays."""
        if _kernels(c) and not given.keyed:
            return kernels.gated_delta(c, given, past)
        values, rule = (given.q, given.k, given.v, past, given.decay, given.beta), "gated_delta"
        return _linear_attention(
            c, *values, queries=given.groups, heads=given.heads, rule=rule, scale=given.scale
        )  # fmt: skip

    def replacing_delta(self, c: GraphContext, given: ReplaceInputs, past: Value) -> tuple[Value, Value]:
        """LinearAttention with two steps for each token."""
        steps = two_steps(c, given)
        values = (steps.q, steps.k, steps.v, past, steps.decay, steps.beta)
        y, present = _linear_attention(c, *values, queries=given.heads, heads=given.heads, rule="gated_delta")
        return second_steps(c, y, given.heads * given.dim), present

    def gated_scan(self, c: GraphContext, given: ScanInputs, past: Value) -> tuple[Value, Value]:
        """GatedDeltaNet, or LinearAttention and chunks for prompts."""
        if _kernels(c):
            return kernels.gated_scan(c, given, past)
        values = (given.q, given.k, given.v, past, given.decay)

        def by_token() -> tuple[Value, Value]:
            return _linear_attention(c, *values, queries=given.groups, heads=given.heads, scale=given.scale)

        return long_scan(c, given, past, by_token)

    def keyed_scan(self, c: GraphContext, given: KeyedInputs, past: Value) -> tuple[Value, Value]:
        """LinearAttention."""
        values = (given.q, given.k, given.v, past, given.decay)
        return _linear_attention(c, *values, queries=given.heads, heads=given.heads)

    def selective_shape(self, target: Target, channels: int, size: int) -> tuple[int, ...]:
        """What `token_scan` takes, or LinearAttention."""
        return (size, channels) if target.scans_tokens else (channels, size, 1)

    def selective_scan(self, c: GraphContext, given: SelectiveInputs, past: Value) -> tuple[Value, Value]:
        """A Scan, or LinearAttention with a head for each channel, a decay for each key, and one value."""
        if c.target.scans_tokens:
            return token_scan(c, given, past, carries=False)
        g = c.graph
        decay = g.op("Mul", g.op("Unsqueeze", given.step, g.ints(3)), given.rate)
        learned = g.op("Mul", given.step, given.x)
        decay = g.op("Reshape", decay, g.ints(0, 0, given.channels * given.size))
        return _linear_attention(c, given.q, given.k, learned, past, decay, queries=1, heads=given.channels)

    def rms_norm(self, c: GraphContext, x: Value, weight: Value, epsilon: float) -> Value:
        """SimplifiedLayerNormalization, which stands in ONNX's own domain."""
        return c.graph.op("SimplifiedLayerNormalization", x, weight, axis=-1, epsilon=epsilon, stash_type=1)

    def add_norm(
        self, c: GraphContext, residual: Value, x: Value, weight: Value, bias: Value | None, kind: str, epsilon: float
    ) -> tuple[Value, Value]:
        """SkipSimplifiedLayerNormalization or SkipLayerNormalization."""
        rms = kind == "rms"
        outputs = c.graph.multi_op(
            "SkipSimplifiedLayerNormalization" if rms else "SkipLayerNormalization",
            *([residual, x, weight] if rms else [residual, x, weight, bias]),
            domain=MICROSOFT,
            outputs=4,
            epsilon=epsilon,
        )
        outputs[1].name = outputs[2].name = ""  # mean and inverse deviation are not wanted
        return outputs[0], outputs[3]

    def norm_and_gate(self, c: GraphContext, x: Value, weight: Value, gate: Value, epsilon: float) -> Value:
        """GatedRMSNorm, or a norm and a product."""
        return (kernels.norm_and_gate if _kernels(c) else parts.norm_and_gate)(c, x, weight, gate, epsilon)

    def silu(self, c: GraphContext, x: Value) -> Value:
        """QuickGelu, which is x * sigmoid(alpha x)."""
        return c.graph.op("QuickGelu", x, domain=MICROSOFT, alpha=1.0)

    def gelu_tanh(self, c: GraphContext, x: Value) -> Value:
        """FastGelu."""
        return c.graph.op("FastGelu", x, domain=MICROSOFT)

    def matmul_transposed(self, c: GraphContext, x: Value, weight: Value) -> Value:
        """FusedMatMul."""
        return c.graph.op("FusedMatMul", x, weight, domain=MICROSOFT, transB=1)

    def rotary(
        self, c: GraphContext, x: Value, tables: tuple[Value, Value], positions: Value, heads: int, dim: int
    ) -> Value:
        """RotaryEmbedding, whose inputs stand in another order than in ONNX's own."""
        return c.graph.op(
            "RotaryEmbedding", x, positions, *tables,
            domain=MICROSOFT, interleaved=0, num_heads=heads, rotary_embedding_dim=dim,
        )  # fmt: skip


def _kernels(c: GraphContext) -> bool:
    return c.target.recurrent_kernels


def _linear_attention(
    c: GraphContext, *values: Value, queries: int, heads: int, rule: str = "gated", scale: float = 1.0
) -> tuple[Value, Value]:
    """The result and the next state. Without a scale, the operator would divide results by a square root."""
    c.needs_runtime("1.25.1")
    y, present = c.graph.multi_op(
        "LinearAttention", *values, domain=MICROSOFT, outputs=2, q_num_heads=queries, kv_num_heads=heads,
        update_rule=rule, scale=scale,
    )  # fmt: skip
    return y, present
