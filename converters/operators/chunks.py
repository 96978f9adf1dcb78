"""A Loop over chunks of tokens, in which recurrent rules are written by operators of the ONNX standard."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from converters.graph.context import GraphContext
from converters.graph.graph import Value

Rule = Callable[[Sequence[Value], Value], tuple[Value, Value]]  # parts of a chunk and state -> result, next state


@dataclass(frozen=True)
class Chunks:
    """Tokens of the step, of a chunk, and how many chunks there are: int64 [1] each; a short step is one short chunk.

    `most` is the largest number of tokens of a chunk.
    """

    length: Value
    size: Value
    count: Value
    most: int


@dataclass(frozen=True)
class Decays:
    """What stays in a chunk, [batch, heads, tokens, ..]; exponents of sums of decays, of which none is positive.

    `between`: at token i of what token j brought, [.., tokens]; right for j <= i. `since`: at each token of the state
    before the chunk, [.., 1]. `until`: at the chunk's end of what each token brought, [.., 1]. `whole`: at the end of
    the state before, [batch, heads, 1, 1].
    """

    between: Value
    since: Value
    until: Value
    whole: Value


def cut(c: GraphContext, x: Value, most: int) -> Chunks:
    """Chunks of at most `most` tokens of x [batch, sequence, channels]; the same for every layer."""
    g = c.graph

    def make() -> Chunks:
        length = g.op("Slice", g.op("Shape", x), g.ints(1), g.ints(2))
        size = g.op("Min", length, g.ints(most))
        count = g.op("Div", g.op("Sub", g.op("Add", length, size), g.ints(1)), size)
        return Chunks(length, size, count, most)

    return c.shared(("chunks", most), make)


def corner(c: GraphContext, chunks: Chunks, name: str, values: npt.NDArray[np.bool_]) -> Value:
    """The upper left of a constant [most, most] of 0 and 1, as large as a chunk."""
    g = c.graph
    size = c.shared(("corner", chunks.most), lambda: g.op("Concat", chunks.size, chunks.size, axis=0))
    return g.op("Slice", g.constant(f"chunk.{name}", values.astype(np.float32)), g.ints(0, 0), size, g.ints(0, 1))


def lower(c: GraphContext, chunks: Chunks) -> Value:
    """1 where token i sees what token j brought, j <= i: [tokens, tokens]."""
    values = np.tri(chunks.most, dtype=np.bool_)
    return c.shared(("lower", chunks.most), lambda: corner(c, chunks, f"lower_{chunks.most}", values))


def loop(
    c: GraphContext,
    chunks: Chunks,
    parts: Sequence[tuple[Value, int, int]],
    past: Value,
    shape: tuple[int, int, int],
    rule: Rule,
) -> tuple[Value, Value]:
    """The results of all tokens [batch, sequence, heads * value_dim], and the state behind them.

    `parts`: what the rule reads as [batch, sequence, heads * channels], heads and channels; it gets those of a chunk
    as [batch, heads, tokens, channels], and gives the result in the same form. Tokens that fill the last chunk up are
    0 in each part and must change nothing. `shape` of the state: heads, dim, value_dim.
    """
    g = c.graph
    whole = [_by_heads(c, part, chunks) for part in parts]
    inputs: list[tuple[str, str, Any]] = [
        ("number", "int64", ()), ("go_on", "bool", ()), ("state", "float32", ("batch_size", *shape))
    ]  # fmt: skip
    with g.body("body", inputs) as body:
        number, go_on, state = body.inputs
        first = g.op("Mul", g.op("Unsqueeze", number, g.ints(0)), chunks.size)
        end = g.op("Add", first, chunks.size)
        y, present = rule([g.op("Slice", part, first, end, g.ints(2)) for part in whole], state)
        body.outputs += [g.op("Identity", go_on), present, g.op("Unsqueeze", y, g.ints(0))]
    go_on_always = g.constant("true", np.array(True))  # onnx's reference evaluator runs no body without it
    present, ys = g.multi_op("Loop", g.op("Squeeze", chunks.count, g.ints(0)), go_on_always, past, outputs=2, body=body)
    # [chunks, 1, batch, heads, tokens, channels] -> [batch, sequence, heads * channels], without what was filled up.
    # Runtimes stack results of a body; onnx's reference evaluator joins them: hence the 1, and a shape for both.
    stacked = g.op("Concat", chunks.count, g.ints(-1, shape[0]), chunks.size, g.ints(shape[2]), axis=0)
    rows = g.op("Transpose", g.op("Reshape", ys, stacked), perm=[1, 0, 3, 2, 4])
    flat = g.op("Reshape", rows, g.ints(0, -1, shape[0] * shape[2]))
    return g.op("Slice", flat, g.ints(0), chunks.length, g.ints(1)), present


def _by_heads(c: GraphContext, part: tuple[Value, int, int], chunks: Chunks) -> Value:
    """Heads before tokens, and as many tokens as chunks hold."""
    g, (x, heads, channels) = c.graph, part

    split = g.op("Transpose", g.op("Reshape", x, g.ints(0, 0, heads, channels)), perm=[0, 2, 1, 3])
    return g.op("Pad", split, filling(c, chunks))


def filling(c: GraphContext, chunks: Chunks) -> Value:
    """The pads of [batch, heads, tokens, channels] that fill the last chunk up."""
    g = c.graph

    def make() -> Value:
        more = g.op("Sub", g.op("Mul", chunks.count, chunks.size), chunks.length)
        return g.op("Concat", g.ints(0, 0, 0, 0, 0, 0), more, g.ints(0), axis=0)

    return c.shared(("filling", chunks.most), make)


def decays(c: GraphContext, decay: Value) -> Decays:
    """See `Decays`; decay [batch, heads, tokens, 1], logarithms, none positive."""
    g = c.graph
    total = g.op("CumSum", decay, c.integer("token_axis", 2))
    apart = g.op("Sub", total, g.op("Transpose", total, perm=[0, 1, 3, 2]))
    between = g.op("Exp", g.op("Min", apart, c.number("zero", 0.0, "float32")))
    last = g.op("Slice", total, g.ints(-1), g.ints(2**31 - 1), g.ints(2))
    return Decays(between, g.op("Exp", total), g.op("Exp", g.op("Sub", last, total)), g.op("Exp", last))
