"""Parts of recurrent layers by simple operators, where a provider has no kernel for them that is faster."""

from dataclasses import replace

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import ConvolutionInputs, DeltaInputs, RateInputs


def shifted_products(c: GraphContext, given: ConvolutionInputs, past: Value) -> tuple[Value, Value]:
    """See `OperatorSet.convolve`.

    On CPUs these take a tenth of the time of Conv and half of that of CausalConvWithState for single tokens, and for
    prompts about as long as the first and a third of the second.
    """
    g, y = c.graph, None
    seen = g.op("Concat", past, given.x, axis=1)
    taps = g.op("Transpose", given.weight, perm=[1, 0])
    for tap in range(given.kernel):
        first = g.ints(tap)
        shifted = g.op("Slice", seen, first, g.op("Add", given.length, first), g.ints(1))
        part = g.op("Mul", shifted, g.op("Slice", taps, first, g.ints(tap + 1), g.ints(0)))
        y = part if y is None else g.op("Add", y, part)
    assert y is not None
    if given.bias is not None:
        y = g.op("Add", y, given.bias)
    return (c.operators.silu(c, y) if given.silu else y), seen


def delta_rates(c: GraphContext, given: RateInputs) -> tuple[Value, Value]:
    """See `OperatorSet.delta_rates`."""
    g = c.graph
    return g.op("Mul", softplus(c, given.alpha, given.bias), given.rate), g.op("Sigmoid", given.beta)


def softplus(c: GraphContext, x: Value, bias: Value) -> Value:
    """See `OperatorSet.softplus`."""
    return c.graph.op("Softplus", c.graph.op("Add", x, bias))


def delta_by_heads(c: GraphContext, given: DeltaInputs) -> DeltaInputs:
    """The same, with scaled queries, and with q and k for each head."""
    g, q, k, each = c.graph, given.q, given.k, given.heads // given.groups
    if given.scale != 1:
        q = g.op("Mul", q, c.number("delta_scale", given.scale, "float32"))
    if each > 1:
        q, k = (g.op("Reshape", x, g.ints(0, 0, given.groups, 1, given.dim)) for x in (q, k))
        q, k = (g.op("Tile", x, g.ints(1, 1, 1, each, 1)) for x in (q, k))
        q, k = (g.op("Reshape", x, g.ints(0, 0, given.heads * given.dim)) for x in (q, k))
    return replace(given, q=q, k=k, groups=given.heads, scale=1.0)


def norm_and_gate(c: GraphContext, x: Value, weight: Value, gate: Value, epsilon: float) -> Value:
    """See `OperatorSet.norm_and_gate`."""
    g = c.graph
    assert weight.shape is not None
    heads = g.op("Reshape", x, g.ints(0, 0, -1, int(weight.shape[0])))
    normed = c.operators.rms_norm(c, heads, weight, epsilon)
    return g.op("Mul", g.op("Reshape", normed, g.ints(0, 0, -1)), c.operators.silu(c, gate))
