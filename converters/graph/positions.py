"""Where the tokens of a step stand in their texts, and the slopes by which ALiBi weighs how far apart they are."""

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext, SequenceInputs
from converters.graph.graph import Value


def positions(c: GraphContext, inputs: SequenceInputs) -> Value:
    """Position of each input token: int64 [batch, sequence]; those of padding mean nothing, but are in range."""
    return c.shared("positions", lambda: c.operators.attention.positions(c, inputs))


def sequence_length(c: GraphContext, inputs: SequenceInputs) -> Value:
    """How many tokens a text has in this step, with padding: int64 [1]."""
    g = c.graph
    return c.shared("sequence_length", lambda: g.op("Slice", g.op("Shape", inputs.input_ids), g.ints(1), g.ints(2)))


def total_length(c: GraphContext, inputs: SequenceInputs) -> Value:
    """Columns of the mask: int64 [1]."""
    g = c.graph
    return g.op("Slice", g.op("Shape", inputs.mask), g.ints(1), g.ints(2))


def alibi_slopes(heads: int, max_bias: float) -> npt.NDArray[np.float64]:
    """Slope per head of ALiBi (arXiv 2108.12409), as llama.cpp has them.

    Two geometric series where `heads` is no power of 2. `max_bias` is the exponent of the slopes.
    The bias is slope * (key position - query position).
    """
    power = 1 << (heads.bit_length() - 1)
    first, second = 2.0 ** (-max_bias / power), 2.0 ** (-max_bias / 2 / power)
    return np.array([first ** (h + 1) if h < power else second ** (2 * (h - power) + 1) for h in range(heads)])
