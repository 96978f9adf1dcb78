"""A causal convolution of a few tokens, channel by channel, with its state."""

from collections.abc import Sequence

import numpy as np

from converters.blocks.context import Build
from converters.blocks.module import Place
from converters.graph.context import GraphContext, SequenceInputs
from converters.graph.graph import Value
from converters.graph.padding import real, text_end
from converters.graph.positions import sequence_length
from converters.graph.recurrent import ConvolutionInputs
from converters.graph.states import CONVOLUTION


def short_conv(
    b: Build,
    x: Value,
    name: str | Sequence[str],
    channels: int,
    kernel: int,
    place: Place,
    inputs: SequenceInputs,
    *,
    silu: bool = False,
) -> Value:
    """x [batch, sequence, channels] -> the same shape: sum over j of weight[:, j] * x[t - (kernel - 1) + j].

    Several names: of convolutions as wide as one another, whose channels stand side by side, without biases.
    The result and the state are of `Build.mixing_dtype`. The state holds the last kernel - 1 inputs, oldest first,
    [batch, kernel - 1, channels]; padding is none of them.
    """
    c, g, dtype = b.c, b.c.graph, b.mixing_dtype
    with g.scope("conv"):
        x = b.to_mixing(x)
        if not c.operators.attention.pads_behind:
            x = g.op("Mul", x, real(c, inputs))
        parameters = _parameters(b, name, channels, kernel, dtype)
        given = ConvolutionInputs(x, *parameters, sequence_length(c, inputs), kernel, silu)
        state = b.fixed_state(place.layer, CONVOLUTION, kernel - 1, channels, dtype=dtype)
        y, seen = c.operators.convolve(c, given, c.past(state))
        c.keep(state, last_tokens(c, seen, kernel - 1, channels, inputs))
        return y


def _parameters(
    b: Build, name: str | Sequence[str], channels: int, kernel: int, dtype: str
) -> tuple[Value, Value | None]:  # fmt: skip
    """Weights [channels, kernel], and the bias [channels] where there is one."""
    if isinstance(name, str):
        bias = b.weights.vector(f"{name}.bias", (channels,), dtype=dtype) if f"{name}.bias" in b.weights else None
        return b.weights.vector(f"{name}.weight", (channels, kernel), dtype=dtype), bias
    each = channels // len(name)
    rows = [b.weights.vector(f"{part}.weight", (each, kernel), dtype=dtype) for part in name]
    return b.c.graph.op("Concat", *rows, axis=0), None


def last_tokens(c: GraphContext, seen: Value, count: int, channels: int, inputs: SequenceInputs) -> Value:
    """The next state, [batch, count, channels]: of `count` tokens and the step behind them those that end each text.

    By GatherND, or by GatherElements, whose index takes memory once, and on GPUs half as many launches for each layer.
    """
    g = c.graph

    def rows() -> Value:
        columns = g.constant(f"columns_{count}", np.arange(count)[None, :, None])
        return g.op("Add", g.op("Unsqueeze", text_end(c, inputs), g.ints(1, 2)), columns)

    def elements() -> Value:
        return g.op("Expand", c.shared(("last tokens", count), rows), g.ints(1, count, channels))

    if c.target.recurrent_kernels:
        return g.op("GatherElements", seen, c.shared(("last tokens", count, channels), elements), axis=1)
    return g.op("GatherND", seen, c.shared(("last tokens", count), rows), batch_dims=1)
