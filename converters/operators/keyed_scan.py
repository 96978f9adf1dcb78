"""Linear attention with a decay for each key channel, by operators of the ONNX standard: Scans over tokens.

Loops over chunks are no faster here: what a token reads of another one is no product of two matrices, since every
channel fades at its own pace.
"""

from collections.abc import Callable, Sequence

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import DeltaInputs, KeyedInputs, ReplaceInputs
from converters.graph.states import BATCH

Shape = tuple[int | str, ...]
Rule = Callable[[Value, Sequence[Value]], tuple[Value, Value]]  # state, parts of a token -> next state, result


def keyed_scan(c: GraphContext, given: KeyedInputs, past: Value) -> tuple[Value, Value]:
    """See `OperatorSet.keyed_scan`."""
    g, row, column = c.graph, _row(given.heads, given.dim), _column(given.heads, given.dim)

    def rule(state: Value, parts: Sequence[Value]) -> tuple[Value, Value]:
        query, key, value, stays = parts
        present = g.op("Add", g.op("Mul", state, stays), g.op("Mul", key, value))
        return present, g.op("MatMul", query, present)

    with g.scope("tokens"):
        parts = {"query": (given.q, row), "key": (given.k, column), "value": (given.v, row),
                 "stays": (g.op("Exp", given.decay), column)}  # fmt: skip
        return _scan(c, parts, past, (given.heads, given.dim, given.dim), rule)


def keyed_delta(c: GraphContext, given: DeltaInputs, past: Value) -> tuple[Value, Value]:
    """See `OperatorSet.gated_delta`; of `delta_by_heads`."""
    g, heads, dim, value_dim = c.graph, given.heads, given.dim, given.value_dim
    row, column = _row(heads, dim), _column(heads, dim)

    def rule(state: Value, parts: Sequence[Value]) -> tuple[Value, Value]:
        query, key, standing, value, stays, beta = parts
        faded = g.op("Mul", state, stays)
        error = g.op("Mul", g.op("Sub", value, g.op("MatMul", key, faded)), beta)
        present = g.op("Add", faded, g.op("Mul", standing, error))
        return present, g.op("MatMul", query, present)

    with g.scope("tokens"):
        parts = {"query": (given.q, row), "key": (given.k, row), "standing": (given.k, column),
                 "value": (given.v, _row(heads, value_dim)), "stays": (g.op("Exp", given.decay), column),
                 "beta": (given.beta, _row(heads, 1))}  # fmt: skip
        return _scan(c, parts, past, (heads, dim, value_dim), rule)


def replacing_scan(c: GraphContext, given: ReplaceInputs, past: Value) -> tuple[Value, Value]:
    """See `OperatorSet.replacing_delta`."""
    g, row, column = c.graph, _row(given.heads, given.dim), _column(given.heads, given.dim)

    def rule(state: Value, parts: Sequence[Value]) -> tuple[Value, Value]:
        query, key, value, stays, old, taken = parts
        wrote = g.op("MatMul", g.op("Concat", taken, key, axis=3),
                     g.op("Concat", g.op("MatMul", old, state), value, axis=2))  # fmt: skip
        present = g.op("Add", g.op("Mul", state, stays), wrote)
        return present, g.op("MatMul", query, present)

    with g.scope("tokens"):
        taken = g.op("Neg", g.op("Mul", given.old, g.op("Exp", given.rate)))
        parts = {"query": (given.q, row), "key": (given.k, column), "value": (given.v, row),
                 "stays": (g.op("Exp", given.decay), column), "old": (given.old, row),
                 "taken": (taken, column)}  # fmt: skip
        return _scan(c, parts, past, (given.heads, given.dim, given.dim), rule)


def _row(heads: int, channels: int) -> Shape:
    return (BATCH, heads, 1, channels)


def _column(heads: int, channels: int) -> Shape:
    return (BATCH, heads, channels, 1)


def _scan(
    c: GraphContext, parts: dict[str, tuple[Value, Shape]], past: Value, sizes: tuple[int, int, int], rule: Rule
) -> tuple[Value, Value]:
    """(results [batch, sequence, heads * value_dim], state behind them); `parts` [batch, sequence, heads * channels].

    `sizes` of the state: heads, dim, value_dim.
    """
    g = c.graph
    shapes = {"state": (BATCH, *sizes), **{name: shape for name, (_, shape) in parts.items()}}
    with g.body("body", [(name, "float32", shape) for name, shape in shapes.items()]) as body:
        state, *token = body.inputs
        body.outputs += rule(state, token)
    tokens = [_by_token(c, x, shape) for x, shape in parts.values()]
    present, ys = g.multi_op("Scan", past, *tokens, outputs=2, body=body, num_scan_inputs=len(tokens))
    by_text = g.op("Transpose", g.op("Squeeze", ys, g.ints(3)), perm=[1, 0, 2, 3])
    return g.op("Reshape", by_text, g.ints(0, 0, sizes[0] * sizes[2])), present


def _by_token(c: GraphContext, x: Value, shape: Shape) -> Value:
    """[batch, sequence, heads * channels] -> [sequence, batch, heads, ...] as `shape` ends."""
    ends = [int(size) for size in shape[1:]]
    return c.graph.op("Reshape", c.graph.op("Transpose", x, perm=[1, 0, 2]), c.graph.ints(0, 0, *ends))
