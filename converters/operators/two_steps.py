"""A delta rule whose keys to forget and to learn differ, as two steps of the gated delta rule for each token.

The rule S = W S - (R a) (a^T S) + k v^T, with diagonal W (what stays) and R (rates), is (W - R a a^T) S + k v^T. With
D = sqrt(W R) and u = sqrt(R / W) a, the first part is D (I - u u^T) (W / D) S: a decay W / D, a delta rule that learns
0 for the key u, and a decay D that belongs to the second step. That one has the key k / 2^20 and the value 2^20 v: what
it forgets of k is 2^-40 of it, less than float32 shows.
"""

import numpy as np

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import DeltaInputs, ReplaceInputs

LEAST_RATE = -27.0  # its exponential is below what float32 shows of 1; the root of one of 0 could not be divided by
LARGE = 2.0**20  # a power of 2, so that nothing rounds


def two_steps(c: GraphContext, given: ReplaceInputs) -> DeltaInputs:
    """What the gated delta rule reads: twice as many tokens, whose second ones have the results."""
    g, wide = c.graph, "float32"
    half, zero = c.number("half", 0.5, wide), c.number("zero", 0.0, wide)
    rate = g.op("Max", given.rate, c.number("least_rate", LEAST_RATE, wide))
    first = g.op("Mul", g.op("Sub", given.decay, rate), half)
    second = g.op("Mul", g.op("Add", given.decay, rate), half)
    nothing = g.op("Mul", given.v, zero)
    key = g.op("Mul", given.old, g.op("Exp", g.op("Neg", first)))
    k = g.op("Mul", given.k, c.number("small", 1 / LARGE, wide))
    v = g.op("Mul", given.v, c.number("large", LARGE, wide))
    ones = g.constant(f"ones_{2 * given.heads}_{wide}", np.ones(2 * given.heads, wide))
    width = given.heads * given.dim
    q, k, v, decay = (
        _in_turn(c, g.op("Concat", *pair, axis=-1), width)
        for pair in ((nothing, given.q), (key, k), (nothing, v), (first, second))
    )
    beta = _in_turn(c, g.op("Mul", given.real, ones), given.heads)
    return DeltaInputs(q, k, v, decay, beta, given.heads, given.heads, given.dim, given.dim, keyed=True)


def second_steps(c: GraphContext, y: Value, width: int) -> Value:
    """The results of the second steps: [batch, 2 * tokens, width] -> [batch, tokens, width]."""
    both = c.graph.op("Reshape", y, c.graph.ints(0, -1, 2 * width))
    return c.graph.op("Slice", both, c.graph.ints(width), c.graph.ints(2 * width), c.graph.ints(2))


def _in_turn(c: GraphContext, both: Value, width: int) -> Value:
    """[batch, tokens, 2 * width] -> [batch, 2 * tokens, width]."""
    return c.graph.op("Reshape", both, c.graph.ints(0, -1, width))
