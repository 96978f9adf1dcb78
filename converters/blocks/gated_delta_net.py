"""The gated delta net of Qwen 3 Next and 3.5: convolution, normed keys and queries, delta rule, and a gated norm."""

import numpy as np

from converters.blocks.context import WIDE, Build
from converters.blocks.delta_projections import projections
from converters.blocks.linear import linear
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
    c, prefix = b.c, place.prefix
    with c.graph.scope("delta"):
        mixed, gate, rates = projections(b, x, module, prefix)
        mixed = short_conv(
            b, mixed, f"{prefix}.ssm_conv1d", module.channels, module.kernel, place, inputs, silu=True
        )  # fmt: skip
        given = _given(b, mixed, _rates(b, rates, module, prefix, inputs), module)
        sizes = c.operators.gated_shape(c.target, module.heads, module.dim, module.value_dim)
        state = b.fixed_state(place.layer, RECURRENT, *sizes)
        y, present = c.operators.gated_delta(c, given, c.past(state))
        c.keep(state, present)
        weight = b.weights.vector(f"{prefix}.ssm_norm.weight", (module.value_dim,))
        y = c.operators.norm_and_gate(c, b.from_mixing(y), weight, gate, b.spec.norm.epsilon)
        return linear(b, y, f"{prefix}.ssm_out", b.spec.hidden, module.heads * module.value_dim)


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


def _given(b: Build, mixed: Value, rates: tuple[Value, Value], module: GatedDeltaNet) -> DeltaInputs:
    """What the rule reads; where head h is to read key head h % key_heads, with q and k for each head."""
    heads, groups, dim, value_dim = module.heads, module.key_heads, module.dim, module.value_dim
    q, k, v = unit_keys(b, mixed, groups, dim, heads * value_dim, b.mixing_dtype)
    if heads > groups and not module.grouped:
        q, k = (b.c.graph.op("Tile", part, b.c.graph.ints(1, 1, heads // groups)) for part in (q, k))
        groups = heads
    return DeltaInputs(q, k, v, *rates, heads, groups, dim, value_dim, scale=dim**-0.5)


def unit_keys(b: Build, mixed: Value, heads: int, dim: int, width: int, dtype: str) -> tuple[Value, Value, Value]:
    """q and k, each of `heads` of `dim` channels over its length, and v: `width` channels, all side by side in `mixed`.

    x / sqrt(sum of squares + epsilon) is an RMS norm, its epsilon over the channels, its weights 1 / sqrt of these.
    """
    g, keys = b.c.graph, heads * dim
    both, v = g.multi_op("Split", mixed, g.ints(2 * keys, width), outputs=2, axis=-1)
    weight = g.constant(f"unit_{dim}_{dtype}", np.full(dim, dim**-0.5).astype(dtype))
    split = g.op("Reshape", both, g.ints(0, 0, 2 * heads, dim))
    unit = b.c.operators.rms_norm(b.c, split, weight, b.spec.norm.epsilon / dim)
    q, k = g.multi_op("Split", g.op("Reshape", unit, g.ints(0, 0, 2 * keys)), g.ints(keys, keys), outputs=2, axis=-1)
    return q, k, v
