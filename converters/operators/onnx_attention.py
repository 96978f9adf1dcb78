"""ONNX's own Attention operator, with a cache that grows by concatenation and a mask made here."""

from dataclasses import replace

from converters.graph.context import GraphContext, Heads, SequenceInputs
from converters.graph.graph import Value
from converters.graph.positions import alibi_slopes, positions, sequence_length, total_length
from converters.graph.states import BATCH, PAST_LENGTH
from converters.operators.head_width import cut, flat, widen
from converters.operators.sink_attention import sink_attention
from converters.target import Target

BLOCKED = -1e4  # added to the score of a position that must not be seen; float16 holds it
BOOL = 9  # TensorProto's number
LAST = 2**31 - 1  # the end of an axis


class OnnxAttention:
    """Attention of opset 23: heads of any size, q, k and v in three values that are turned already."""

    pads_behind = False

    def rotates(self, rope_dim: int) -> bool:
        """Never."""
        return False

    def norms_heads(self, target: Target, heads: Heads) -> bool:
        """Never."""
        return False

    def takes_packed(self, heads: Heads) -> bool:
        """Never."""
        return False

    def holds(self, target: Target, heads: Heads) -> bool:
        """Always."""
        return True

    def positions(self, c: GraphContext, inputs: SequenceInputs) -> Value:
        """The number of tokens before each, whatever padding stands between."""
        with c.graph.scope("positions"):
            return _of_step(c, _counted(c, inputs), inputs, axis=1)

    def real(self, c: GraphContext, inputs: SequenceInputs) -> Value:
        """The mask's last columns."""
        return c.graph.op("Cast", _of_step(c, inputs.mask, inputs, axis=1), to=BOOL)

    def guard(self, c: GraphContext, y: Value, inputs: SequenceInputs) -> Value:
        """y: padding may stand anywhere."""
        return y

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
        if heads.softcap:
            c.needs_runtime("1.27.0")  # older ones bound the scores behind the mask: wrong, and they say nothing
        if heads.max_alibi_bias:
            c.needs_runtime("1.25.0")  # older ones take no mask for each head
        dim = max(heads.dim, heads.value_dim)
        if heads.dim != heads.value_dim:  # onnxruntime-genai has one shape for keys and values
            q = flat(c, widen(c, q, heads.count, heads.dim, dim), heads.count * dim)
            k = flat(c, widen(c, k, heads.kv_count, heads.dim, dim), heads.kv_count * dim)
            v = flat(c, widen(c, v, heads.kv_count, heads.value_dim, dim), heads.kv_count * dim)
        shape = (BATCH, heads.kv_count, PAST_LENGTH, dim)
        states = c.add_states(layer, {"key": shape, "value": shape}, in_place=False)
        past = [c.past(state) for state in states]
        mask = _shared_mask(c, heads, inputs)
        if heads.sink is not None:
            assert not heads.softcap
            both = (past[0], past[1])
            y, *present = sink_attention(c, q, k, v, mask, both, replace(heads, dim=dim, value_dim=dim))
        else:
            y, *present = c.graph.multi_op(
                "Attention", q, k, v, mask, *past, outputs=3, scale=heads.scale, softcap=heads.softcap,
                q_num_heads=heads.count, kv_num_heads=heads.kv_count,
            )  # fmt: skip
        for state, value in zip(states, present, strict=True):
            c.keep(state, value)
        return y if dim == heads.value_dim else cut(c, y, heads.count, dim, heads.value_dim)

    def emit_shared(self, c: GraphContext, q: Value, heads: Heads, owner: int, inputs: SequenceInputs) -> Value:
        """The owner's present states as keys and values, which have an axis of heads: then q must have one, too."""
        g = c.graph
        assert heads.rope is None and heads.norms is None
        if heads.softcap:
            c.needs_runtime("1.27.0")
        split = g.op("Transpose", g.op("Reshape", q, g.ints(0, 0, heads.count, heads.dim)), perm=[0, 2, 1, 3])
        known = [c.kept[owner, part] for part in ("key", "value")]
        mask = _shared_mask(c, heads, inputs)
        y = g.op("Attention", split, *known, mask, scale=heads.scale, softcap=heads.softcap)
        y = g.op("Transpose", y, perm=[0, 2, 1, 3])
        return g.op("Reshape", y, g.ints(0, 0, heads.count * heads.value_dim))


def _shared_mask(c: GraphContext, heads: Heads, inputs: SequenceInputs) -> Value:
    """See `_mask`, once for all layers that see alike."""
    bias = heads.max_alibi_bias
    key = ("mask", heads.window, heads.chunk, heads.count * bool(bias), bias)
    return c.shared(key, lambda: _mask(c, heads, inputs))


def _mask(c: GraphContext, heads: Heads, inputs: SequenceInputs) -> Value:
    """What is added to the scores: float [batch, 1 or heads, sequence, total].

    States keep what stands in the mask's columns, padding too: earlier is what stands before in these, near is what
    lies few tokens back.
    """
    g, kind = c.graph, c.target.dtype
    with g.scope("mask"):
        columns = c.shared("columns", lambda: _columns(c, inputs))
        queries = g.op("Unsqueeze", _of_step(c, columns, inputs, axis=0), g.ints(1))
        present = g.op("Unsqueeze", g.op("Cast", inputs.mask, to=BOOL), g.ints(1, 2))
        seen = g.op("And", g.op("GreaterOrEqual", queries, columns), present)
        nothing = c.number("zero", 0.0)
        if heads.window is not None or heads.max_alibi_bias:
            back = g.op(
                "Sub",
                g.op("Unsqueeze", positions(c, inputs), g.ints(1, 3)),
                g.op("Unsqueeze", _counted(c, inputs), g.ints(1, 2)),
            )  # [batch, 1, sequence, total]: how many tokens back a key lies
        if heads.window is not None:
            near = g.op("Less", back, c.integer(f"window_{heads.window}", heads.window))
            seen = g.op("And", seen, near)
        if heads.chunk is not None and heads.chunk < c.context_length:
            size = c.integer(f"chunk_{heads.chunk}", heads.chunk)
            own, seen_from = (g.op("Div", where, size) for where in (_counted(c, inputs), positions(c, inputs)))
            same = g.op("Equal", g.op("Unsqueeze", seen_from, g.ints(1, 3)), g.op("Unsqueeze", own, g.ints(1, 2)))
            seen = g.op("And", seen, same)
        if heads.max_alibi_bias:
            slopes = -alibi_slopes(heads.count, heads.max_alibi_bias).reshape(1, -1, 1, 1)
            rows = g.constant(f"alibi_{heads.count}_{heads.max_alibi_bias:g}", slopes.astype(kind))
            nothing = g.op("Mul", g.cast(back, kind), rows)
        return g.op("Where", seen, nothing, c.number("blocked", BLOCKED))


def _columns(c: GraphContext, inputs: SequenceInputs) -> Value:
    """Numbers of the mask's columns: int64 [total]."""
    g = c.graph
    limit = c.integer("position_count", c.context_length)
    total = total_length(c, inputs)
    every = g.op("Range", c.integer("position_first", 0), limit, c.integer("position_step", 1))
    return g.op("Slice", every, g.ints(0), total, g.ints(0))


def _counted(c: GraphContext, inputs: SequenceInputs) -> Value:
    """How many tokens stand before each column of the mask, wherever padding stands: int64 [batch, total]."""

    def make() -> Value:
        g = c.graph
        with g.scope("positions"):
            counted = g.op("CumSum", inputs.mask, c.integer("mask_axis", 1))
            return g.op("Max", g.op("Sub", counted, c.integer("position_step", 1)), c.integer("position_first", 0))

    return c.shared("counted", make)


def _of_step(c: GraphContext, columns: Value, inputs: SequenceInputs, axis: int) -> Value:
    """The last columns: those of the step's tokens."""
    g = c.graph
    return g.op("Slice", columns, g.op("Neg", sequence_length(c, inputs)), g.ints(LAST), g.ints(axis))
