"""ONNX's own Attention operator, with a cache that grows by concatenation and a mask made here."""

from converters.graph.context import GraphContext, Heads, SequenceInputs
from converters.graph.graph import Value
from converters.graph.positions import alibi_slopes, positions
from converters.graph.states import BATCH, PAST_LENGTH
from converters.target import Target

BLOCKED = -1e4  # added to the score of a position that must not be seen; float16 holds it
BOOL = 9  # TensorProto's number


class OnnxAttention:
    """Attention of opset 23: heads of any size, q, k and v in three values that are turned already."""

    def rotates(self, rope_dim: int) -> bool:
        """Never."""
        return False

    def norms_heads(self, target: Target, heads: Heads) -> bool:
        """Never."""
        return False

    def takes_packed(self, heads: Heads) -> bool:
        """Never."""
        return False

    def emit(
        self,
        c: GraphContext,
        q: Value,
        k: Value | None,
        v: Value | None,
        heads: Heads,
        layer: int,
        inputs: SequenceInputs,
    ) -> Value:
        """See `AttentionOperator.emit`."""
        assert k is not None and v is not None and heads.rope is None and heads.norms is None
        sizes = {"key": heads.dim, "value": heads.value_dim}
        shapes = {part: (BATCH, heads.kv_count, PAST_LENGTH, dim) for part, dim in sizes.items()}
        states = c.add_states(layer, shapes, in_place=False)
        past = [c.past(state) for state in states]
        mask = c.shared(("mask", heads.window, heads.count * bool(heads.max_alibi_bias), heads.max_alibi_bias),
                        lambda: _mask(c, heads, inputs))  # fmt: skip
        y, *present = c.graph.multi_op(
            "Attention", q, k, v, mask, *past, outputs=3, scale=heads.scale, softcap=heads.softcap,
            q_num_heads=heads.count, kv_num_heads=heads.kv_count,
        )  # fmt: skip
        for state, value in zip(states, present, strict=True):
            c.keep(state, value)
        return y


def _mask(c: GraphContext, heads: Heads, inputs: SequenceInputs) -> Value:
    """What is added to the scores: float [batch, 1 or heads, sequence, total]."""
    g, kind = c.graph, c.target.dtype
    with g.scope("mask"):
        limit = c.integer("position_count", c.context_length)
        zero, one = c.integer("position_first", 0), c.integer("position_step", 1)
        total = g.op("Slice", g.op("Shape", inputs.mask), g.ints(1), g.ints(2))
        keys = g.op("Slice", g.op("Range", zero, limit, one), g.ints(0), total, g.ints(0))
        queries = g.op("Unsqueeze", positions(c, inputs), g.ints(1, 3))
        behind = g.op("Sub", queries, keys)  # [batch, 1, sequence, total]: how far back a key lies
        seen = g.op("And", g.op("GreaterOrEqual", behind, zero), _present(c, inputs))
        if heads.window is not None:
            near = g.op("Less", behind, c.integer(f"window_{heads.window}", heads.window))
            seen = g.op("And", seen, near)
        nothing = c.number("zero", 0.0)
        if heads.max_alibi_bias:
            slopes = -alibi_slopes(heads.count, heads.max_alibi_bias).reshape(1, -1, 1, 1)
            rows = g.constant(f"alibi_{heads.count}_{heads.max_alibi_bias:g}", slopes.astype(kind))
            nothing = g.op("Mul", g.cast(behind, kind), rows)
        return g.op("Where", seen, nothing, c.number("blocked", BLOCKED))


def _present(c: GraphContext, inputs: SequenceInputs) -> Value:
    """Which positions hold a token: bool [batch, 1, 1, total]."""
    return c.graph.op("Unsqueeze", c.graph.op("Cast", inputs.mask, to=BOOL), c.graph.ints(1, 2))
