"""Padding among the tokens of a step, which must not enter a state."""

from converters.graph.context import GraphContext, SequenceInputs
from converters.graph.graph import Value
from converters.graph.positions import sequence_length


def real(c: GraphContext, inputs: SequenceInputs) -> Value:
    """1 for each token of the step, 0 for padding: float32 [batch, sequence, 1]."""
    g = c.graph

    def make() -> Value:
        with g.scope("padding"):
            return g.op("Unsqueeze", g.cast(_tokens(c, inputs), "float32"), g.ints(2))

    return c.shared("real", make)


def less_for_padding(c: GraphContext, inputs: SequenceInputs) -> Value:
    """0 for each token, -10000 for padding, of which neither softplus nor sigmoid leaves anything: as `real`."""
    g = c.graph

    def make() -> Value:
        with g.scope("padding"):
            least = c.number("least", 1e4, "float32")
            return g.op("Mul", g.op("Sub", real(c, inputs), c.number("one", 1, "float32")), least)

    return c.shared("less for padding", make)


def text_end(c: GraphContext, inputs: SequenceInputs) -> Value:
    """How many of the step's columns reach to its last token: int64 [batch]; 0 where all are padding."""
    g = c.graph

    def make() -> Value:
        with g.scope("padding"):
            found = _tokens(c, inputs)
            length = g.op("Squeeze", sequence_length(c, inputs), g.ints(0))
            one = c.integer("position_step", 1)
            numbers = g.op("Range", one, g.op("Add", length, one), one)
            return g.op("ReduceMax", g.op("Mul", g.cast(found, "int64"), numbers), g.ints(1), keepdims=0)

    return c.shared("text_end", make)


def _tokens(c: GraphContext, inputs: SequenceInputs) -> Value:
    """Which of the step's columns are tokens: bool [batch, sequence]."""
    return c.shared("tokens", lambda: c.operators.attention.real(c, inputs))
