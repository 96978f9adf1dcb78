"""Linear attention whose inputs are mixed with those of the token before, by shares that the token itself chooses."""

from converters.blocks.context import Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.short_conv import last_tokens
from converters.blocks.wide import WIDE, narrow, wide
from converters.graph.context import KeyedInputs, SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.positions import sequence_length
from converters.graph.states import BATCH, CONVOLUTION, RECURRENT
from converters.spec import TimeMix

MIXED = 5  # of decay, key, value, query and gate: each has its own shares


@emits(TimeMix)
def time_mix(b: Build, x: Value, module: TimeMix, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, f"{place.prefix}.time_mix"
    width, keys = module.heads * module.dim, module.key_heads * module.dim
    with g.scope("time_mix"):
        decay, k, v, q, gate = _mixed(b, x, _before(b, x, place, inputs), module, prefix)
        decay = _decay(b, decay, module, prefix)
        k = wide(b, linear(b, k, f"{prefix}_key", keys, hidden))
        v = wide(b, linear(b, v, f"{prefix}_value", keys, hidden))
        q = wide(b, linear(b, q, f"{prefix}_receptance", width, hidden))
        gate = g.op("Sigmoid", linear(b, gate, f"{prefix}_gate", width, hidden))
        there = real(c, inputs, WIDE)
        k, v, decay = _repeated(b, k, module), _repeated(b, v, module), g.op("Mul", decay, there)
        one = c.number("one", 1.0, WIDE)
        k = g.op("Mul", g.op("Mul", k, there), g.op("Sub", one, g.op("Exp", decay)))
        q = g.op("Mul", q, c.number("key_scale", module.dim**-0.5, WIDE))
        shape = {RECURRENT: (BATCH, module.heads, module.dim, module.dim)}
        (state,) = c.add_states(place.layer, shape, in_place=c.operators.states_in_place, dtype=WIDE)
        y, present = c.operators.keyed_scan(c, KeyedInputs(q, k, v, decay, module.heads, module.dim), c.past(state))
        c.keep(state, present)
        return linear(b, g.op("Mul", narrow(b, y), gate), f"{prefix}_output", hidden, width)


def _before(b: Build, x: Value, place: Place, inputs: SequenceInputs) -> Value:
    """What stands one token before each: as x."""
    c, g = b.c, b.c.graph
    x = g.op("Mul", x, real(c, inputs, c.target.dtype))
    shape = {CONVOLUTION: (BATCH, 1, b.spec.hidden)}
    (state,) = c.add_states(place.layer, shape, in_place=c.operators.states_in_place)
    seen = g.op("Concat", c.past(state), x, axis=1)
    c.keep(state, last_tokens(c, seen, 1, inputs))
    return g.op("Slice", seen, g.ints(0), sequence_length(c, inputs), g.ints(1))


def _mixed(b: Build, x: Value, before: Value, module: TimeMix, prefix: str) -> tuple[Value, ...]:
    """x + share * (before - x), with the shares of each of the five."""
    g, hidden, rank = b.c.graph, b.spec.hidden, module.mix_rank
    change = g.op("Sub", before, x)
    first = g.op("Add", x, g.op("Mul", change, b.weights.vector(f"{prefix}_lerp_x.weight", (hidden,))))
    low = g.op("Tanh", b.weights.matrix(f"{prefix}_w1.weight", (MIXED * rank, hidden)).product(b.c, first))
    low = g.op("Transpose", g.op("Reshape", low, g.ints(0, 0, MIXED, rank)), perm=[0, 2, 1, 3])
    high = g.op("Transpose", b.weights.vector(f"{prefix}_w2.weight", (MIXED, hidden, rank)), perm=[0, 2, 1])
    share = g.op("MatMul", low, high)  # [batch, 5, sequence, hidden]
    share = g.op("Add", share, b.weights.vector(f"{prefix}_lerp_fused.weight", (MIXED, 1, hidden)))
    axis = g.ints(1)
    mixed = g.op("Add", g.op("Unsqueeze", x, axis), g.op("Mul", share, g.op("Unsqueeze", change, axis)))
    parts = g.multi_op("Split", mixed, g.ints(*[1] * MIXED), outputs=MIXED, axis=1)
    return tuple(g.op("Squeeze", part, axis) for part in parts)


def _decay(b: Build, x: Value, module: TimeMix, prefix: str) -> Value:
    """The logarithm of what stays, [batch, sequence, heads * dim], float32: never positive."""
    g, rank, width = b.c.graph, module.decay_rank, module.heads * module.dim
    low = g.op("Tanh", b.weights.matrix(f"{prefix}_decay_w1.weight", (rank, b.spec.hidden)).product(b.c, x))
    raw = wide(b, b.weights.matrix(f"{prefix}_decay_w2.weight", (width, rank)).product(b.c, low))
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
