"""The gated delta net of Qwen 3 Next and 3.5: convolution, normed keys and queries, delta rule, and a gated norm."""

import numpy as np
import numpy.typing as npt

from converters.blocks.context import WIDE, Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.blocks.short_conv import short_conv
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.recurrent import DeltaInputs
from converters.graph.states import RECURRENT
from converters.spec import GatedDeltaNet


@emits(GatedDeltaNet)
def gated_delta_net(b: Build, x: Value, module: GatedDeltaNet, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, place.prefix
    heads, width = module.heads, module.heads * module.value_dim
    with g.scope("delta"):
        mixed, gate = _projections(b, x, module, prefix)
        mixed = short_conv(b, mixed, f"{prefix}.ssm_conv1d", module.channels, module.kernel, place, inputs)
        mixed = b.wide(c.operators.silu(c, mixed))
        keys = module.key_heads * module.dim
        q, k, v = g.multi_op("Split", mixed, g.ints(keys, keys, width), outputs=3, axis=-1)
        given = DeltaInputs(
            g.op("Mul", _keys(b, q, module), c.number("delta_scale", module.dim**-0.5, WIDE)),
            _keys(b, k, module), v, *_rates(b, x, module, prefix, inputs), heads, module.dim, module.value_dim,
        )  # fmt: skip
        state = b.fixed_state(place.layer, RECURRENT, heads, module.dim, module.value_dim)
        y, present = c.operators.gated_delta(c, given, c.past(state))
        c.keep(state, present)
        y = g.op("Reshape", b.narrow(y), g.ints(0, 0, heads, module.value_dim))
        y = g.op("Reshape", norm(b, y, f"{prefix}.ssm_norm", module.value_dim), g.ints(0, 0, width))
        return linear(b, g.op("Mul", y, c.operators.silu(c, gate)), f"{prefix}.ssm_out", hidden, width)


def _rates(b: Build, x: Value, module: GatedDeltaNet, prefix: str, inputs: SequenceInputs) -> tuple[Value, Value]:
    """decay = softplus(alpha(x) + dt) * a, and beta = sigmoid(beta(x)): [batch, sequence, heads], 0 for padding."""
    g, heads, hidden = b.c.graph, module.heads, b.spec.hidden
    if f"{prefix}.ssm_ba.weight" in b.weights:
        rows = _by_key_head(module, {"beta": 1, "alpha": 1})
        both = linear(b, x, f"{prefix}.ssm_ba", 2 * heads, hidden, np.concatenate([rows["beta"], rows["alpha"]]))
        beta, alpha = g.multi_op("Split", b.wide(both), g.ints(heads, heads), outputs=2, axis=-1)
    else:
        alpha = b.wide(linear(b, x, f"{prefix}.ssm_alpha", heads, hidden))
        beta = b.wide(linear(b, x, f"{prefix}.ssm_beta", heads, hidden))
    step = g.op("Softplus", g.op("Add", alpha, b.weights.vector(f"{prefix}.ssm_dt.bias", (heads,), dtype=WIDE)))
    decay = g.op("Mul", step, b.weights.vector(f"{prefix}.ssm_a", (heads,), dtype=WIDE))
    there = real(b.c, inputs)
    return g.op("Mul", decay, there), g.op("Mul", g.op("Sigmoid", beta), there)


def _projections(b: Build, x: Value, module: GatedDeltaNet, prefix: str) -> tuple[Value, Value]:
    """q, k and v side by side, and the gate; in older files all four are one tensor, key head by key head."""
    g, hidden, width = b.c.graph, b.spec.hidden, module.heads * module.value_dim
    if f"{prefix}.ssm_in.weight" not in b.weights:
        mixed = linear(b, x, f"{prefix}.attn_qkv", module.channels, hidden)
        return mixed, linear(b, x, f"{prefix}.attn_gate", width, hidden)
    rows = _by_key_head(module, {"v": module.value_dim, "gate": module.value_dim}, before=module.dim)
    order = np.concatenate([rows[part] for part in ("q", "k", "v", "gate")])
    both = linear(b, x, f"{prefix}.ssm_in", module.channels + width, hidden, order)
    mixed, gate = g.multi_op("Split", both, g.ints(module.channels, width), outputs=2, axis=-1)
    return mixed, gate


def _by_key_head(module: GatedDeltaNet, sizes: dict[str, int], before: int = 0) -> dict[str, npt.NDArray[np.intp]]:
    """Rows of each part of a tensor that has all parts of a key head side by side.

    `sizes`: channels of a value head, of which a key head has several; `before` these, so many of q and of k.
    """
    each = module.heads // module.key_heads
    widths = {**({"q": before, "k": before} if before else {}), **{part: each * n for part, n in sizes.items()}}
    rows = np.arange(module.key_heads * sum(widths.values())).reshape(module.key_heads, -1)
    ends = np.cumsum(list(widths.values()))[:-1]
    return {part: block.reshape(-1) for part, block in zip(widths, np.split(rows, ends, axis=1), strict=True)}


def _keys(b: Build, x: Value, module: GatedDeltaNet) -> Value:
    """Each key head x [batch, sequence, key_heads * dim] over its length, for all value heads: [.., heads * dim]."""
    g, dim = b.c.graph, module.dim
    unit, times = unit_heads(b, x, module.key_heads, dim), module.heads // module.key_heads
    if times > 1 and module.grouped:
        unit = g.op("Tile", g.op("Unsqueeze", unit, g.ints(3)), g.ints(1, 1, 1, times, 1))
    elif times > 1:
        unit = g.op("Tile", unit, g.ints(1, 1, times, 1))
    return g.op("Reshape", unit, g.ints(0, 0, module.heads * dim))


def unit_heads(b: Build, x: Value, heads: int, dim: int) -> Value:
    """Each head of x [batch, sequence, heads * dim] over its length: [batch, sequence, heads, dim]."""
    g = b.c.graph
    split = g.op("Reshape", x, g.ints(0, 0, heads, dim))
    square = g.op("ReduceSumSquare", split, g.ints(-1), keepdims=1)
    length = g.op("Sqrt", g.op("Add", square, b.c.number("epsilon", b.spec.norm.epsilon, WIDE)))
    return g.op("Div", split, length)
