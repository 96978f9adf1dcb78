"""A selective scan by operators of the ONNX standard: a Scan over tokens.

The state is [batch, size, channels], so that what its body adds and multiplies lies in long rows: with the channels
first it takes 2.5 times as long.
"""

from converters.graph.context import GraphContext
from converters.graph.graph import Value
from converters.graph.recurrent import SelectiveInputs
from converters.graph.states import BATCH


def token_scan(c: GraphContext, given: SelectiveInputs, past: Value, *, carries: bool) -> tuple[Value, Value]:
    """See `OperatorSet.selective_scan`.

    `carries`: the rates go from token to token as a second state, which takes a quarter longer: OpenVINO's Scan sees
    no values outside of its body.
    """
    g, size, channels = c.graph, given.size, given.channels
    with g.scope("tokens"):
        value = g.op("Mul", given.step, given.x)
        tokens = (
            _by_token(c, given.step, 2),
            _by_token(c, value, 2),
            _by_token(c, given.k, 3),
            _by_token(c, given.q, 2),
        )
        shapes = {
            "state": (BATCH, size, channels), "step": (BATCH, 1, channels), "value": (BATCH, 1, channels),
            "key": (BATCH, size, 1), "query": (BATCH, 1, size),
        }  # fmt: skip
        rate = g.op("Transpose", given.rate, perm=[1, 0])
        carried = {"rate": (size, channels)} if carries else {}
        with g.body("body", [(name, "float32", shape) for name, shape in {**carried, **shapes}.items()]) as body:
            *rates, state, step, value, key, query = body.inputs
            kept = g.op("Mul", g.op("Exp", g.op("Mul", step, rates[0] if rates else rate)), state)
            present = g.op("Add", kept, g.op("Mul", key, value))
            body.outputs += [*(g.op("Identity", same) for same in rates), present, g.op("MatMul", query, present)]
        first = (rate, past) if carries else (past,)
        *_, present, ys = g.multi_op(
            "Scan", *first, *tokens, outputs=len(first) + 1, body=body, num_scan_inputs=len(tokens)
        )  # fmt: skip
        return g.op("Transpose", g.op("Squeeze", ys, g.ints(2)), perm=[1, 0, 2]), present


def _by_token(c: GraphContext, x: Value, axis: int) -> Value:
    """[batch, sequence, channels] -> [sequence, batch, channels], with a new axis."""
    return c.graph.op("Unsqueeze", c.graph.op("Transpose", x, perm=[1, 0, 2]), c.graph.ints(axis))
