"""Linear attention with a decay for each key channel, by operators of the ONNX standard: a Scan over tokens."""

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import KeyedInputs
from converters.graph.states import BATCH


def keyed_scan(c: GraphContext, given: KeyedInputs, past: Value) -> tuple[Value, Value]:
    """See `OperatorSet.keyed_scan`."""
    g, heads, dim = c.graph, given.heads, given.dim
    row, column = (BATCH, heads, 1, dim), (BATCH, heads, dim, 1)
    shapes = {"state": (BATCH, heads, dim, dim), "query": row, "key": column, "value": row, "stays": column}
    with g.scope("tokens"):
        with g.body("body", [(name, "float32", shape) for name, shape in shapes.items()]) as body:
            state, query, key, value, stays = body.inputs
            present = g.op("Add", g.op("Mul", state, stays), g.op("Mul", key, value))
            body.outputs += [present, g.op("MatMul", query, present)]
        wanted = ((given.q, row), (given.k, column), (given.v, row), (g.op("Exp", given.decay), column))
        tokens = [_by_token(c, x, shape) for x, shape in wanted]
        present, ys = g.multi_op("Scan", past, *tokens, outputs=2, body=body, num_scan_inputs=len(tokens))
        by_text = g.op("Transpose", g.op("Squeeze", ys, g.ints(3)), perm=[1, 0, 2, 3])
        return g.op("Reshape", by_text, g.ints(0, 0, heads * dim)), present


def _by_token(c: GraphContext, x: Value, shape: tuple[int | str, ...]) -> Value:
    """[batch, sequence, heads * dim] -> [sequence, batch, heads, ...] as `shape` ends."""
    ends = [int(size) for size in shape[1:]]
    return c.graph.op("Reshape", c.graph.op("Transpose", x, perm=[1, 0, 2]), c.graph.ints(0, 0, *ends))
