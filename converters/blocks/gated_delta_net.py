"""The gated delta net of Qwen 3.5: convolution, normed keys and queries, the delta rule, and a gated norm."""

import numpy as np

from converters.blocks.context import WIDE, Build
from converters.blocks.linear import linear, stackable, stacked_linear
from converters.blocks.module import Place, emits
from converters.blocks.short_conv import short_conv
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import less_for_padding
from converters.graph.recurrent import DeltaInputs, RateInputs
from converters.graph.states import RECURRENT
from converters.spec import GatedDeltaNet


@emits(GatedDeltaNet)
def gated_delta_net(b: Build, x: Value, module: GatedDeltaNet, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, place.prefix
    heads, width = module.heads, module.heads * module.value_dim
    with g.scope("delta"):
        mixed = linear(b, x, f"{prefix}.attn_qkv", module.channels, hidden)
        gate, both = _gate_and_rates(b, x, module, prefix)
        mixed = short_conv(
            b, mixed, f"{prefix}.ssm_conv1d", module.channels, module.kernel, place, inputs, silu=True
        )  # fmt: skip
        given = DeltaInputs(
            *_parts(b, mixed, module), *_rates(b, both, module, prefix, inputs),
            heads, module.dim, module.value_dim, scale=module.dim**-0.5,
        )  # fmt: skip
        sizes = c.operators.gated_shape(c.target, heads, module.dim, module.value_dim)
        state = b.fixed_state(place.layer, RECURRENT, *sizes)
        y, present = c.operators.gated_delta(c, given, c.past(state))
        c.keep(state, present)
        weight = b.weights.vector(f"{prefix}.ssm_norm.weight", (module.value_dim,))
        y = c.operators.norm_and_gate(c, b.from_mixing(y), weight, gate, b.spec.norm.epsilon)
        return linear(b, y, f"{prefix}.ssm_out", hidden, width)


def _gate_and_rates(b: Build, x: Value, module: GatedDeltaNet, prefix: str) -> tuple[Value, Value]:
    """The gate of the result, and alpha and beta side by side; as one product where the types allow, or as two."""
    g, hidden, heads, width = b.c.graph, b.spec.hidden, module.heads, module.heads * module.value_dim
    gate = (f"{prefix}.attn_gate", width, None)
    rates = [(f"{prefix}.ssm_alpha", heads, None), (f"{prefix}.ssm_beta", heads, None)]
    names = [name for name, _, _ in rates]
    if b.c.target.stack_projections and stackable(b, [gate[0], *names]):
        whole = stacked_linear(b, x, f"{prefix}.ssm_gate_rates", [gate, *rates], hidden)
        found, both = g.multi_op("Split", whole, g.ints(width, 2 * heads), outputs=2, axis=-1)
        return found, both
    if b.c.target.stack_projections and stackable(b, names):
        both = stacked_linear(b, x, f"{prefix}.ssm_rates", rates, hidden)
    else:
        both = g.op("Concat", *[linear(b, x, name, heads, hidden) for name in names], axis=-1)
    return linear(b, x, gate[0], width, hidden), both


def _rates(
    b: Build, both: Value, module: GatedDeltaNet, prefix: str, inputs: SequenceInputs
) -> tuple[Value, Value]:  # fmt: skip
    """decay = softplus(alpha(x) + dt) * a, and beta = sigmoid(beta(x)): [batch, sequence, heads], 0 for padding."""
    g, heads = b.c.graph, module.heads
    both = g.op("Add", b.wide(both), less_for_padding(b.c, inputs))
    alpha, beta = g.multi_op("Split", both, g.ints(heads, heads), outputs=2, axis=-1)
    bias = b.weights.vector(f"{prefix}.ssm_dt.bias", (heads,), dtype=WIDE)
    rate = b.weights.vector(f"{prefix}.ssm_a", (heads,), dtype=WIDE)
    return b.c.operators.delta_rates(b.c, RateInputs(alpha, beta, bias, rate))


def _parts(b: Build, mixed: Value, module: GatedDeltaNet) -> tuple[Value, Value, Value]:
    """q and k, each head over its length, for all value heads; and v.

    x / sqrt(sum of squares + epsilon) is an RMS norm, its epsilon over the channels, its weights 1 / sqrt of these.
    """
    g, dim, count, dtype = b.c.graph, module.dim, module.key_heads, b.mixing_dtype
    both, v = g.multi_op(
        "Split", mixed, g.ints(2 * count * dim, module.heads * module.value_dim), outputs=2, axis=-1
    )  # fmt: skip
    weight = g.constant(f"unit_{dim}_{dtype}", np.full(dim, dim**-0.5).astype(dtype))
    split = g.op("Reshape", both, g.ints(0, 0, 2 * count, dim))
    unit = b.c.operators.rms_norm(b.c, split, weight, b.spec.norm.epsilon / dim)
    flat = g.op("Reshape", unit, g.ints(0, 0, 2 * count * dim))
    q, k = g.multi_op("Split", flat, g.ints(count * dim, count * dim), outputs=2, axis=-1)
    times = module.heads // count
    if times > 1:
        q, k = (g.op("Tile", part, g.ints(1, 1, times)) for part in (q, k))
    return q, k, v
