"""Where the tokens of a step stand in their texts, and the slopes by which ALiBi weighs how far apart they are."""

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext, SequenceInputs
from converters.graph.graph import Value


def positions(c: GraphContext, inputs: SequenceInputs) -> Value:
    """Position of each input token: int64 [batch, sequence].

    The last token's position minus (sequence - 1, ..., 1, 0), a piece of a constant: only the shape of the ids is
    looked at besides, so that a captured CUDA graph stays right when the sequence grows.
    """

    def make() -> Value:
        g = c.graph
        with g.scope("positions"):
            limit = c.integer("position_limit", c.context_length - 1)
            behind = g.op("Range", limit, c.integer("position_end", -1), c.integer("position_down", -1))
            length = g.op("Slice", g.op("Shape", inputs.input_ids), g.ints(1), g.ints(2))
            tail = g.op("Slice", behind, g.op("Neg", length), g.ints(c.context_length), g.ints(0))
            return g.op("Sub", g.op("Unsqueeze", inputs.last_position, g.ints(1)), tail)

    return c.shared("positions", make)


def alibi_slopes(heads: int, max_bias: float) -> npt.NDArray[np.float64]:
    """Slope per head of ALiBi (arXiv 2108.12409), as llama.cpp has them.

    Two geometric series where `heads` is no power of 2. `max_bias` is the exponent of the slopes.
    The bias is slope * (key position - query position).
    """
    power = 1 << (heads.bit_length() - 1)
    first, second = 2.0 ** (-max_bias / power), 2.0 ** (-max_bias / 2 / power)
    return np.array([first ** (h + 1) if h < power else second ** (2 * (h - power) + 1) for h in range(heads)])
