"""A causal convolution of a few tokens, channel by channel, with its state."""

from collections.abc import Sequence

import numpy as np

from converters.blocks.context import WIDE, Build
from converters.blocks.module import Place
from converters.graph.context import GraphContext, SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real, text_end
from converters.graph.positions import sequence_length
from converters.graph.states import CONVOLUTION


def short_conv(
    b: Build, x: Value, name: str | Sequence[str], channels: int, kernel: int, place: Place, inputs: SequenceInputs
) -> Value:
    """x [batch, sequence, channels] -> the same shape: sum over j of weight[:, j] * x[t - (kernel - 1) + j].

    Several names: of convolutions as wide as one another, whose channels stand side by side, without biases.
    The state holds the last kernel - 1 inputs, oldest first, float32 [batch, kernel - 1, channels]; padding is none of
    them.
    As shifted products: for single tokens these take a tenth of the time of Conv, for prompts about as long.
    """
    c, g = b.c, b.c.graph
    with g.scope("conv"):
        x = g.op("Mul", b.wide(x), real(c, inputs))
        state = b.fixed_state(place.layer, CONVOLUTION, kernel - 1, channels)
        seen = g.op("Concat", c.past(state), x, axis=1)
        c.keep(state, last_tokens(c, seen, kernel - 1, inputs))
        taps = g.op("Transpose", _rows(b, name, channels, kernel), perm=[1, 0])
        length, y = sequence_length(c, inputs), None
        for tap in range(kernel):
            first = g.ints(tap)
            shifted = g.op("Slice", seen, first, g.op("Add", length, first), g.ints(1))
            part = g.op("Mul", shifted, g.op("Slice", taps, first, g.ints(tap + 1), g.ints(0)))
            y = part if y is None else g.op("Add", y, part)
        assert y is not None
        if isinstance(name, str) and f"{name}.bias" in b.weights:
            y = g.op("Add", y, b.weights.vector(f"{name}.bias", (channels,), dtype=WIDE))
        return b.narrow(y)


def _rows(b: Build, name: str | Sequence[str], channels: int, kernel: int) -> Value:
    """The weights, [channels, kernel]."""
    if isinstance(name, str):
        return b.weights.vector(f"{name}.weight", (channels, kernel), dtype=WIDE)
    each = channels // len(name)
    parts = [b.weights.vector(f"{part}.weight", (each, kernel), dtype=WIDE) for part in name]
    return b.c.graph.op("Concat", *parts, axis=0)


def last_tokens(c: GraphContext, seen: Value, count: int, inputs: SequenceInputs) -> Value:
    """The next state, [batch, count, channels]: of `count` tokens and the step behind them those that end each text."""
    g = c.graph

    def make() -> Value:
        columns = g.constant(f"columns_{count}", np.arange(count)[None, :, None])
        return g.op("Add", g.op("Unsqueeze", text_end(c, inputs), g.ints(1, 2)), columns)

    return g.op("GatherND", seen, c.shared(("last tokens", count), make), batch_dims=1)
