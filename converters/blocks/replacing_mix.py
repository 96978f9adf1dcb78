"""Linear attention that replaces what a key stood for, over inputs mixed with the token before by fixed shares."""

from converters.blocks.context import WIDE, Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.time_mix import normed_heads
from converters.blocks.token_shift import before
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real
from converters.graph.recurrent import ReplaceInputs
from converters.graph.states import RECURRENT
from converters.spec import ReplacingMix

MOST_DECAY = -0.606531  # the logarithm of what stays where most fades: -exp(-1/2), as llama.cpp writes it
LEAST_LENGTH = 1e-12  # of a key that is divided by its length


@emits(ReplacingMix)
def replacing_mix(b: Build, x: Value, module: ReplacingMix, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    c, g, hidden, prefix = b.c, b.c.graph, b.spec.hidden, f"{place.prefix}.time_mix"
    with g.scope("time_mix"):
        change = g.op("Sub", before(b, x, place, inputs, row=0, rows=module.shifts), x)
        query, decay, key, value, rate, *gate = _mixed(b, x, change, module, prefix)
        q = b.wide(linear(b, query, f"{prefix}_receptance", hidden, hidden))
        k = b.wide(linear(b, key, f"{prefix}_key", hidden, hidden))
        v = b.wide(_value(b, value, module, place, prefix))
        rate = b.wide(_chosen(b, rate, prefix, "a", module.rate_rank))
        there, share = real(c, inputs), g.op("Sigmoid", rate)
        log_rate = g.op("Neg", g.op("Softplus", g.op("Neg", rate)))  # of a sigmoid
        old = _unit(b, g.op("Mul", k, _wide_vector(b, prefix, "k_k")), module)
        k = g.op("Add", k, g.op("Mul", g.op("Sub", share, c.number("one", 1.0, WIDE)),
                                g.op("Mul", k, _wide_vector(b, prefix, "k_a"))))  # fmt: skip
        log_decay = g.op("Mul", _decay(b, decay, module, prefix), c.number("most_decay", MOST_DECAY, WIDE))
        masked = (g.op("Mul", part, there) for part in (k, log_decay, old, log_rate))
        k, log_decay, old, log_rate = masked
        given = ReplaceInputs(q, k, v, log_decay, old, log_rate, there, module.heads, module.dim)
        state = b.fixed_state(place.layer, RECURRENT, module.heads, module.dim, module.dim)
        y, present = c.operators.replacing_delta(c, given, c.past(state))
        c.keep(state, present)
        y = normed_heads(b, b.narrow(y), module.heads, module.dim, prefix) if module.normed else b.narrow(y)
        y = g.op("Add", y, b.narrow(_own(b, given, prefix)))
        if gate:
            y = g.op("Mul", y, _gate(b, gate[0], module, prefix))
        return linear(b, y, f"{prefix}_output", hidden, hidden)


def _mixed(b: Build, x: Value, change: Value, module: ReplacingMix, prefix: str) -> list[Value]:
    """x + share * change, by the shares of query, decay, key, value, rate and, where there is one, gate."""
    g, count = b.c.graph, 6 if module.gate_rank else 5
    shares = b.weights.vector(f"{prefix}_lerp_fused.weight", (count, 1, 1, b.spec.hidden))
    parts = g.multi_op("Split", shares, g.ints(*[1] * count), outputs=count, axis=0)
    return [g.op("Add", x, g.op("Mul", change, g.op("Squeeze", part, g.ints(0)))) for part in parts]


def _low_rank(b: Build, x: Value, prefix: str, name: str, rank: int, activation: str | None = None) -> Value:
    """[batch, sequence, hidden] by way of `rank` channels."""
    hidden = b.spec.hidden
    low = b.weights.matrix(f"{prefix}_{name}1.weight", (rank, hidden)).product(b.c, x)
    if activation is not None:
        low = b.c.graph.op(activation, low)
    return b.weights.matrix(f"{prefix}_{name}2.weight", (hidden, rank)).product(b.c, low)


def _chosen(b: Build, x: Value, prefix: str, name: str, rank: int, activation: str | None = None) -> Value:
    """What a token chooses, with a bias, before its sigmoid."""
    bias = b.weights.vector(f"{prefix}_{name}0.weight", (b.spec.hidden,))
    return b.c.graph.op("Add", _low_rank(b, x, prefix, name, rank, activation), bias)


def _decay(b: Build, x: Value, module: ReplacingMix, prefix: str) -> Value:
    """How much of each key channel fades, float32."""
    return b.c.graph.op("Sigmoid", b.wide(_chosen(b, x, prefix, "w", module.decay_rank, "Tanh")))


def _value(b: Build, x: Value, module: ReplacingMix, place: Place, prefix: str) -> Value:
    """Values, nearer to those of the first layer by a share that the token chooses."""
    g, hidden = b.c.graph, b.spec.hidden
    v = linear(b, x, f"{prefix}_value", hidden, hidden)
    first = b.c.shared("first values", lambda: v)
    if first is v:
        return v
    share = g.op("Sigmoid", _chosen(b, x, prefix, "v", module.value_rank))
    return g.op("Add", v, g.op("Mul", g.op("Sub", first, v), share))


def _gate(b: Build, x: Value, module: ReplacingMix, prefix: str) -> Value:
    return _low_rank(b, x, prefix, "g", module.gate_rank, "Sigmoid")


def _unit(b: Build, x: Value, module: ReplacingMix) -> Value:
    """Each head over its length."""
    g = b.c.graph
    heads = g.op("Reshape", x, g.ints(0, 0, module.heads, module.dim))
    length = g.op("ReduceL2", heads, g.ints(-1), keepdims=1)
    length = g.op("Max", length, b.c.number("least_length", LEAST_LENGTH, WIDE))
    return g.op("Reshape", g.op("Div", heads, length), g.ints(0, 0, b.spec.hidden))


def _own(b: Build, given: ReplaceInputs, prefix: str) -> Value:
    """What each token makes of itself: v, times q . k by weights of their own."""
    g, heads = b.c.graph, b.c.graph.ints(0, 0, given.heads, given.dim)
    both = g.op("Mul", g.op("Mul", given.q, given.k), _wide_vector(b, prefix, "r_k"))
    own = g.op("ReduceSum", g.op("Reshape", both, heads), g.ints(-1), keepdims=1)
    return g.op("Reshape", g.op("Mul", g.op("Reshape", given.v, heads), own), g.ints(0, 0, b.spec.hidden))


def _wide_vector(b: Build, prefix: str, name: str) -> Value:
    return b.weights.vector(f"{prefix}_{name}.weight", (b.spec.hidden,), dtype=WIDE)
