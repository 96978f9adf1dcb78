"""Kimi Delta Attention: convolutions, normed keys and queries, a delta rule that fades channels, a gated norm."""

from converters.blocks.context import WIDE, Build
from converters.blocks.gated_delta_net import unit_keys
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.blocks.short_conv import short_conv
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.recurrent import DeltaInputs
from converters.graph.states import RECURRENT
from converters.spec import KeyedDeltaNet


@emits(KeyedDeltaNet)
def keyed_delta_net(b: Build, x: Value, module: KeyedDeltaNet, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, place.prefix
    heads, dim, width = module.heads, module.dim, module.heads * module.dim
    with g.scope("delta"):
        parts = [linear(b, x, f"{prefix}.attn_{part}", width, hidden) for part in "qkv"]
        names = [f"{prefix}.ssm_conv1d_{part}" for part in "qkv"]
        mixed = g.op("Concat", *parts, axis=-1)
        mixed = short_conv(b, mixed, names, 3 * width, module.kernel, place, inputs, silu=True)
        q, k, v = unit_keys(b, b.mixing_to_wide(mixed), heads, dim, width, WIDE)
        there = real(c, inputs)
        beta = g.op("Sigmoid", b.wide(linear(b, x, f"{prefix}.ssm_beta", heads, hidden)))
        decay = g.op("Mul", _decay(b, x, module, prefix), there)
        given = DeltaInputs(
            q, k, v, decay, g.op("Mul", beta, there), heads, heads, dim, dim, scale=dim**-0.5, keyed=True
        )  # fmt: skip
        state = b.fixed_state(place.layer, RECURRENT, heads, dim, dim)
        y, present = c.operators.gated_delta(c, given, c.past(state))
        c.keep(state, present)
        y = norm(b, g.op("Reshape", b.narrow(y), g.ints(0, 0, heads, dim)), f"{prefix}.ssm_norm", dim)
        gate = g.op("Sigmoid", _by_way_of(b, x, module, f"{prefix}.ssm_g"))
        return linear(
            b, g.op("Mul", g.op("Reshape", y, g.ints(0, 0, width)), gate), f"{prefix}.attn_output", hidden, width
        )


def _decay(b: Build, x: Value, module: KeyedDeltaNet, prefix: str) -> Value:
    """softplus(f(x) + dt) * a, with an a for each head: the logarithm of what stays, [batch, sequence, heads * dim]."""
    g, heads, dim = b.c.graph, module.heads, module.dim
    raw = b.wide(_by_way_of(b, x, module, f"{prefix}.ssm_f"))
    raw = g.op("Add", raw, b.weights.vector(f"{prefix}.ssm_dt.bias", (heads * dim,), dtype=WIDE))
    step = g.op("Reshape", g.op("Softplus", raw), g.ints(0, 0, heads, dim))
    decay = g.op("Mul", step, b.weights.vector(f"{prefix}.ssm_a", (heads, 1), dtype=WIDE))
    return g.op("Reshape", decay, g.ints(0, 0, heads * dim))


def _by_way_of(b: Build, x: Value, module: KeyedDeltaNet, name: str) -> Value:
    """[batch, sequence, hidden] -> [.., heads * dim], by `dim` channels."""
    low = b.weights.matrix(f"{name}_a.weight", (module.dim, b.spec.hidden)).product(b.c, x)
    return b.weights.matrix(f"{name}_b.weight", (module.heads * module.dim, module.dim)).product(b.c, low)
