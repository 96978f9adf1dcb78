"""Linear attention whose inputs are mixed with those of the token before, by shares that the token itself chooses."""

from dataclasses import replace

import numpy as np

from converters.blocks.context import WIDE, Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.token_shift import before
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.recurrent import KeyedInputs
from converters.graph.states import RECURRENT
from converters.spec import TimeMix

HEAD_EPSILON = 64e-5  # llama.cpp has it as a constant
MIXED = 5  # of decay, key, value, query and gate: each has its own shares


@emits(TimeMix)
def time_mix(b: Build, x: Value, module: TimeMix, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, f"{place.prefix}.time_mix"
    width, keys = module.heads * module.dim, module.key_heads * module.dim
    with g.scope("time_mix"):
        change = g.op("Sub", before(b, x, place, inputs, row=0, rows=module.shifts), x)
        decay, k, v, q, gate = _mixed(b, x, change, module, prefix)
        decay = _decay(b, decay, module, prefix)
        k = _repeated(b, b.wide(linear(b, k, f"{prefix}_key", keys, hidden)), module)
        v = _repeated(b, b.wide(linear(b, v, f"{prefix}_value", keys, hidden)), module)
        q = b.wide(linear(b, q, f"{prefix}_receptance", width, hidden))
        gate, there = linear(b, gate, f"{prefix}_gate", width, hidden), real(c, inputs)
        given = KeyedInputs(q, g.op("Mul", k, there), v, g.op("Mul", decay, there), module.heads, module.dim)
        state = b.fixed_state(place.layer, RECURRENT, module.heads, module.dim, module.dim)
        if module.bonus:
            y, present = _bonus(b, given, c.past(state), prefix)
            y, gate = _normed(b, b.narrow(y), module, prefix), c.operators.silu(c, gate)
        else:
            y, present = _damped(b, given, c.past(state))
            y, gate = b.narrow(y), g.op("Sigmoid", gate)
        c.keep(state, present)
        return linear(b, g.op("Mul", y, gate), f"{prefix}_output", hidden, width)


def _damped(b: Build, given: KeyedInputs, past: Value) -> tuple[Value, Value]:
    """What is learned of a key channel is the share that fades."""
    c, g = b.c, b.c.graph
    learned = g.op("Sub", c.number("one", 1.0, WIDE), g.op("Exp", given.decay))
    q = g.op("Mul", given.q, c.number("key_scale", given.dim**-0.5, WIDE))
    return c.operators.keyed_scan(c, replace(given, q=q, k=g.op("Mul", given.k, learned)), past)


def _bonus(b: Build, given: KeyedInputs, past: Value, prefix: str) -> tuple[Value, Value]:
    """Queries read the state before their own token, and that by weights of its own.

    So the scan has one token more: the first one learns nothing, and the last one's result is not wanted.
    """
    c, g, shape = b.c, b.c.graph, (given.heads, given.dim)
    k, v, decay = (g.op("Pad", part, g.ints(0, 1, 0, 0, 0, 0)) for part in (given.k, given.v, given.decay))
    q = g.op("Pad", given.q, g.ints(0, 0, 0, 0, 1, 0))
    y, present = c.operators.keyed_scan(c, replace(given, q=q, k=k, v=v, decay=decay), past)
    heads = g.ints(0, 0, *shape)
    own = g.op("Mul", g.op("Reshape", g.op("Mul", given.q, given.k), heads),
               b.weights.vector(f"{prefix}_first.weight", shape, dtype=WIDE))  # fmt: skip
    own = g.op("Mul", g.op("ReduceSum", own, g.ints(-1), keepdims=1), g.op("Reshape", given.v, heads))
    y = g.op("Slice", y, g.ints(0), g.ints(-1), g.ints(1))
    return g.op("Add", y, g.op("Reshape", own, g.ints(0, 0, given.heads * given.dim))), present


def _normed(b: Build, y: Value, module: TimeMix, prefix: str) -> Value:
    """A layer norm of each head, with weights for all channels."""
    g, dim, width, kind = b.c.graph, module.dim, module.heads * module.dim, b.c.target.dtype
    ones, zeros = (g.constant(f"{name}_{dim}_{kind}", np.full(dim, value, kind))
                   for name, value in (("ones", 1), ("zeros", 0)))  # fmt: skip
    heads = g.op("Reshape", y, g.ints(0, 0, module.heads, dim))
    y = g.op("LayerNormalization", heads, ones, zeros, axis=-1, epsilon=HEAD_EPSILON, stash_type=1)
    y = g.op("Mul", g.op("Reshape", y, g.ints(0, 0, width)), b.weights.vector(f"{prefix}_ln.weight", (width,)))
    return g.op("Add", y, b.weights.vector(f"{prefix}_ln.bias", (width,)))


def _mixed(b: Build, x: Value, change: Value, module: TimeMix, prefix: str) -> tuple[Value, ...]:
    """x + share * change, with the shares of each of the five."""
    g, hidden, rank = b.c.graph, b.spec.hidden, module.mix_rank
    first = g.op("Add", x, g.op("Mul", change, b.weights.vector(f"{prefix}_lerp_x.weight", (hidden,))))
    low = g.op("Tanh", b.weights.matrix(f"{prefix}_w1.weight", (MIXED * rank, hidden)).product(b.c, first))
    low = g.op("Transpose", g.op("Reshape", low, g.ints(0, 0, MIXED, rank)), perm=[0, 2, 1, 3])
    high = g.op("Transpose", b.weights.vector(f"{prefix}_w2.weight", (MIXED, hidden, rank)), perm=[0, 2, 1])
    share = g.op("MatMul", low, high)  # [batch, 5, sequence, hidden]
    share, axis = g.op("Add", share, _shares(b, prefix)), g.ints(1)
    mixed = g.op("Add", g.op("Unsqueeze", x, axis), g.op("Mul", share, g.op("Unsqueeze", change, axis)))
    parts = g.multi_op("Split", mixed, g.ints(*[1] * MIXED), outputs=MIXED, axis=1)
    return tuple(g.op("Squeeze", part, axis) for part in parts)


def _shares(b: Build, prefix: str) -> Value:
    """[5, 1, hidden], which older files have as five tensors."""
    g, hidden = b.c.graph, b.spec.hidden
    if f"{prefix}_lerp_fused.weight" in b.weights:
        return b.weights.vector(f"{prefix}_lerp_fused.weight", (MIXED, 1, hidden))
    parts = [b.weights.vector(f"{prefix}_lerp_{name}.weight", (hidden,)) for name in "wkvrg"]
    return g.op("Concat", *(g.op("Unsqueeze", part, g.ints(0, 1)) for part in parts), axis=0)


def _decay(b: Build, x: Value, module: TimeMix, prefix: str) -> Value:
    """The logarithm of what stays, [batch, sequence, heads * dim], float32: never positive."""
    g, rank, width = b.c.graph, module.decay_rank, module.heads * module.dim
    low = g.op("Tanh", b.weights.matrix(f"{prefix}_decay_w1.weight", (rank, b.spec.hidden)).product(b.c, x))
    raw = b.wide(b.weights.matrix(f"{prefix}_decay_w2.weight", (width, rank)).product(b.c, low))
    raw = g.op("Add", raw, b.weights.vector(f"{prefix}_decay.weight", (width,), dtype=WIDE))
    return g.op("Neg", g.op("Exp", raw))


def _repeated(b: Build, x: Value, module: TimeMix) -> Value:
    """Key heads for all heads that share them: [batch, sequence, heads * dim]."""
    g, times = b.c.graph, module.heads // module.key_heads
    if times == 1:
        return x
    split = g.op("Reshape", x, g.ints(0, 0, module.key_heads, 1, module.dim))
    each = g.op("Expand", split, g.ints(1, 1, 1, times, 1))
    return g.op("Reshape", each, g.ints(0, 0, module.heads * module.dim))
