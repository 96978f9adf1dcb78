"""ONNX Runtime's kernels for whole parts of recurrent layers: on GPUs, where every kernel costs a launch."""

import numpy as np

from converters.graph.context import GraphContext
from converters.graph.graph import MICROSOFT, Value
from converters.graph.recurrent import ConvolutionInputs, DeltaInputs, RateInputs, ScanInputs


def causal_conv(c: GraphContext, given: ConvolutionInputs, past: Value) -> tuple[Value, Value]:
    """CausalConvWithState. Its own next state would have padding; it is here so that this node reads `past` first."""
    g = c.graph
    y, behind = g.multi_op(
        "CausalConvWithState", given.x, g.op("Unsqueeze", given.weight, g.ints(1)), given.bias, past,
        domain=MICROSOFT, outputs=2, activation="silu" if given.silu else "none", channels_last=1,
    )  # fmt: skip
    return y, g.op("Concat", past, given.x, behind, axis=1)


def delta_rates(c: GraphContext, given: RateInputs) -> tuple[Value, Value]:
    """LinearAttentionGate."""
    values = (given.alpha, given.bias, given.rate, given.beta)
    decay, beta = c.graph.multi_op("LinearAttentionGate", *values, domain=MICROSOFT, outputs=2)
    return decay, beta


def softplus(c: GraphContext, x: Value, bias: Value) -> Value:
    """LinearAttentionGate with rates of 1."""
    assert bias.shape is not None
    heads = int(bias.shape[0])
    ones = c.graph.constant(f"rates_{heads}", np.ones(heads, np.float32))
    return c.graph.op("LinearAttentionGate", x, bias, ones, domain=MICROSOFT)


def norm_and_gate(c: GraphContext, x: Value, weight: Value, gate: Value, epsilon: float) -> Value:
    """GatedRMSNorm."""
    return c.graph.op("GatedRMSNorm", x, weight, gate, domain=MICROSOFT, epsilon=epsilon, activation="silu")


def gated_delta(c: GraphContext, given: DeltaInputs, past: Value) -> tuple[Value, Value]:
    """GatedDeltaNet, with norms outside: its own adds 1e-12 to the sum of squares, whatever the file says."""
    return _gated_delta_net(c, _by_heads(given), given.decay, given.beta, past, rule="gated_delta", scale=given.scale)


def gated_scan(c: GraphContext, given: ScanInputs, past: Value) -> tuple[Value, Value]:
    """GatedDeltaNet without the delta."""
    return _gated_delta_net(c, _by_heads(given), given.decay, None, past, rule="gated", scale=given.scale)


def _by_heads(given: DeltaInputs | ScanInputs) -> tuple[tuple[Value, int, int], ...]:
    """q, k and v with their heads and channels."""
    groups, dim = given.groups, given.dim
    return (given.q, groups, dim), (given.k, groups, dim), (given.v, given.heads, given.value_dim)


def _gated_delta_net(
    c: GraphContext, parts: tuple[tuple[Value, int, int], ...], decay: Value, beta: Value | None, past: Value,
    *, rule: str, scale: float,
) -> tuple[Value, Value]:  # fmt: skip
    """`parts` as `_by_heads`; the state is [batch, heads, value_dim, dim]."""
    g = c.graph
    split = [g.op("Reshape", x, g.ints(0, 0, heads, dim)) for x, heads, dim in parts]
    y, present = g.multi_op(
        "GatedDeltaNet", *split, None, decay, beta, past,
        domain=MICROSOFT, outputs=2, update_rule=rule, scale=scale,
    )  # fmt: skip
    _, heads, value_dim = parts[2]
    return g.op("Reshape", y, g.ints(0, 0, heads * value_dim)), present
