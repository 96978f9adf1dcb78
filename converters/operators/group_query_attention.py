"""GroupQueryAttention with its in-place key/value cache, for heads of any size, with or without ALiBi."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from converters.graph.context import GraphContext, Heads, SequenceInputs
from converters.graph.graph import MICROSOFT, Value
from converters.graph.positions import alibi_slopes, positions, sequence_length, total_length
from converters.graph.states import BATCH, PAST_LENGTH
from converters.operators.head_width import cut, flat, widen
from converters.operators.short_runs import right_short_runs
from converters.target import Target
from repack.errors import MobiusError

HEAD_DIM_STEP = 8  # channels of a head are a multiple of this
ROPE_STEP = 16  # it turns multiples of so many channels only
# inputs of the operator between the rotary tables and these
BIAS_INPUTS_BEHIND, SINK_INPUTS_BEHIND, NORM_INPUTS_BEHIND = 1, 2, 5
UNPADDED = ("bfloat16",)  # types of which no provider has a kernel of Pad
COARSE = 64  # ALiBi's positions are split in multiples of this and a rest: float16 holds both exactly


class GroupQueryAttention:
    """com.microsoft::GroupQueryAttention.

    Heads that it does not take are widened with zeros, which change no product; ALiBi's bias becomes the product of
    two more channels.
    """

    pads_behind = True  # see `real` and `guard`

    def rotates(self, rope_dim: int) -> bool:
        """Whether the operator turns so many channels itself."""
        return rope_dim % ROPE_STEP == 0

    def norms_heads(self, target: Target, heads: Heads) -> bool:
        """Where the provider's kernel does, and the heads are not widened."""
        return target.norms_heads and self.takes_packed(heads) and heads.rope is not None and heads.sink is None

    def takes_packed(self, heads: Heads) -> bool:
        """Where heads go into the operator as they are."""
        return stored_dim(heads) == heads.dim == heads.value_dim

    def holds(self, target: Target, heads: Heads) -> bool:
        """As wide as the provider's kernel allows."""
        return target.widest_head is None or stored_dim(heads) <= target.widest_head

    def positions(self, c: GraphContext, inputs: SequenceInputs) -> Value:
        """The last token's position minus (sequence - 1, ..., 1, 0); from 0 on where padding stands behind the text.

        Of the ids only the shape is looked at, so that a captured CUDA graph stays right when the sequence grows.
        """
        g = c.graph
        with g.scope("positions"):
            limit = c.integer("position_limit", c.context_length - 1)
            behind = g.op("Range", limit, c.integer("position_end", -1), c.integer("position_down", -1))
            length = sequence_length(c, inputs)
            tail = g.op("Slice", behind, g.op("Neg", length), g.ints(c.context_length), g.ints(0))
            found = g.op("Sub", g.op("Unsqueeze", inputs.last_position, g.ints(1)), tail)
            first = g.op("Slice", found, g.ints(0), g.ints(1), g.ints(1))
            return g.op("Sub", found, g.op("Min", first, c.integer("position_first", 0)))

    def real(self, c: GraphContext, inputs: SequenceInputs) -> Value:
        """Those that stand no further than the last one; a mask may be longer than its text."""
        g = c.graph
        last = inputs.last_position
        if c.target.checks_indices:
            last = g.cast(_checked_lengths(c, inputs), "int64")
        return g.op("LessOrEqual", positions(c, inputs), g.op("Unsqueeze", last, g.ints(1)))

    def guard(self, c: GraphContext, y: Value, inputs: SequenceInputs) -> Value:
        """No numbers in rows that begin with padding, where no kernel can stop a run: logits must not look right."""
        g = c.graph
        if c.target.checks_indices:
            return y
        with g.scope("mask"):
            first = g.op("Gather", inputs.mask, g.ints(0), axis=1, name="no_numbers_where_padding_stands_first")
            return g.op("Div", y, g.op("Unsqueeze", g.cast(first, c.target.dtype), g.ints(2)))

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
        dim = stored_dim(heads)
        _check_chunks(c, heads)
        if not self.takes_packed(heads):
            assert k is not None and v is not None
            _check_widening(c.target, heads, dim)
            q, k, v = _widened(c, q, k, v, heads, dim, inputs)
        shape = (BATCH, heads.kv_count, PAST_LENGTH, dim)
        states = c.add_states(layer, {"key": shape, "value": shape}, in_place=True)
        past = [c.past(state) for state in states]
        y, *present = _attend(c, (q, k, v, *past), heads, inputs, outputs=3)
        if heads.sink is not None and not c.target.takes_sinks:
            y = right_short_runs(c, y, q, (present[0], present[1]), heads, dim, inputs)
        for state, value in zip(states, present, strict=True):
            c.keep(state, value)
        return _own_channels(c, y, heads, dim)

    def emit_shared(self, c: GraphContext, q: Value, heads: Heads, owner: int, inputs: SequenceInputs) -> Value:
        """The owner's present states as past ones, to which no key and no value is added.

        Without outputs of its own for them: with these, the operator copies the whole buffers at every step.
        """
        c.needs_runtime("1.31.0")  # 1.26.0 refuses that, 1.27.0 to 1.30.0 end the process
        assert not heads.max_alibi_bias and heads.norms is None and heads.sink is None
        g, dim = c.graph, stored_dim(heads)
        if dim != heads.dim:
            _check_widening(c.target, heads, dim)
            q = flat(c, widen(c, q, heads.count, heads.dim, dim), heads.count * dim)
        width = heads.kv_count * dim
        nothing = c.shared(("no keys", width), lambda: g.op("Slice", q, g.ints(0, 0), g.ints(0, width), g.ints(1, 2)))
        past = [c.kept[owner, part] for part in ("key", "value")]
        (y,) = _attend(c, (q, nothing, nothing, *past), heads, inputs, outputs=1)
        return _own_channels(c, y, heads, dim)


def _attend(
    c: GraphContext, values: Sequence[Value | None], heads: Heads, inputs: SequenceInputs, outputs: int
) -> tuple[Value, ...]:
    """The operator on q, k, v and the past states."""
    lengths = _checked_lengths(c, inputs) if c.target.checks_indices else inputs.sequence_lengths
    cos, sin = heads.rope.tables() if heads.rope else (None, None)
    behind: list[Value | None] = [] if heads.sink is None else [*[None] * SINK_INPUTS_BEHIND, heads.sink]
    most = c.target.widest_fast_head
    if most is not None and stored_dim(heads) > most and heads.sink is None:
        behind = [*[None] * BIAS_INPUTS_BEHIND, c.shared("no bias", lambda: _no_bias(c, inputs))]
    extra: dict[str, Any] = {}
    if heads.norms is not None:
        behind += [*[None] * (NORM_INPUTS_BEHIND - len(behind)), heads.norms.q, heads.norms.k]
        extra["qk_norm_epsilon"] = heads.norms.epsilon
        c.norms_heads = True
    return c.graph.multi_op(
        "GroupQueryAttention", *values, lengths, inputs.total_length, cos, sin, *behind,
        domain=MICROSOFT, outputs=outputs,
        num_heads=heads.count, kv_num_heads=heads.kv_count, scale=heads.scale, softcap=heads.softcap,
        local_window_size=heads.window if heads.window is not None else -1,
        do_rotary=int(heads.rope is not None), rotary_interleaved=0, **extra,
    )  # fmt: skip


def _no_bias(c: GraphContext, inputs: SequenceInputs) -> Value:
    """Zeros to add to the scores, [1, 1, sequence, total]: they choose the kernel."""
    g = c.graph
    total = total_length(c, inputs)
    shape = g.op("Concat", g.ints(1, 1), sequence_length(c, inputs), total, axis=0)
    return g.op("Expand", c.number("zero", 0.0), shape)


def _own_channels(c: GraphContext, y: Value, heads: Heads, dim: int) -> Value:
    """The result [batch, sequence, heads * dim] without the channels by which heads were widened."""
    return y if dim == heads.value_dim else cut(c, y, heads.count, dim, heads.value_dim)


def _checked_lengths(c: GraphContext, inputs: SequenceInputs) -> Value:
    """See `_checked`, once for all layers."""
    return c.shared("checked lengths", lambda: _checked(c, inputs))


def _checked(c: GraphContext, inputs: SequenceInputs) -> Value:
    """The lengths; or an error where a row begins with padding.

    The operator takes the first columns of a row for its text: padding may stand behind a prompt, where the following
    tokens take its place. (It refuses batches of several tokens in a later step itself; a mask may be longer than the
    text, so padding behind those of a single row cannot be told from a mask that waits for more.)
    """
    g = c.graph
    with g.scope("mask"):
        first = g.op("ReduceMin", g.op("Gather", inputs.mask, c.integer("position_first", 0), axis=1), keepdims=0)
        index = g.op("Sub", c.integer("position_step", 1), first)
        rows = g.op("Unsqueeze", inputs.sequence_lengths, g.ints(0))
        return g.op("Gather", rows, index, axis=0, name="padding_must_stand_behind_the_prompt")


def stored_dim(heads: Heads) -> int:
    """Channels of a head in the operator, which wants keys and values of one size and a multiple of 8.

    Its rotary tables may fill a head's half only as far as (channels / 16) * 8.
    """
    wanted = max(heads.dim + (2 if heads.max_alibi_bias else 0), heads.value_dim)
    turned = heads.rope.dim // 2 if heads.rope else 0
    if wanted == heads.dim == heads.value_dim and wanted % HEAD_DIM_STEP == 0 and turned <= wanted // 16 * 8:
        return wanted
    step = 2 * HEAD_DIM_STEP
    return -(-wanted // step) * step


def _check_chunks(c: GraphContext, heads: Heads) -> None:
    """Refuse chunks, which the operator does not know, where a text can be longer than one."""
    if heads.chunk is not None and heads.chunk < c.context_length:
        raise MobiusError(
            f"{c.target.name} has no chunked attention, and the context of {c.context_length} tokens is longer than a"
            f" chunk of {heads.chunk}",
            f"take --context-length {heads.chunk} or less, or leave out --ep",
        )


def _check_widening(target: Target, heads: Heads, dim: int) -> None:
    """Refuse where no zeros can be put behind the channels."""
    if target.dtype in UNPADDED:
        what = "ALiBi" if heads.max_alibi_bias else f"heads of {heads.dim} channels"
        raise MobiusError(
            f"--dtype {target.dtype} cannot be with {what} on {target.name}: heads are widened to {dim} channels, but"
            f" ONNX Runtime has no {target.dtype} Pad",
            f"use --dtype f16 with --ep {target.name}, or leave out --ep and --dtype",
        )


def _widened(
    c: GraphContext, q: Value, k: Value, v: Value, heads: Heads, dim: int, inputs: SequenceInputs
) -> tuple[Value, Value, Value]:
    """q, k and v with heads of `dim` channels."""
    q, k = widen(c, q, heads.count, heads.dim, dim), widen(c, k, heads.kv_count, heads.dim, dim)
    v = flat(c, widen(c, v, heads.kv_count, heads.value_dim, dim), heads.kv_count * dim)
    if heads.max_alibi_bias:
        q, k = _alibi(c, q, k, heads, dim, inputs)
    return flat(c, q, heads.count * dim), flat(c, k, heads.kv_count * dim), v


def _alibi(c: GraphContext, q: Value, k: Value, heads: Heads, dim: int, inputs: SequenceInputs) -> tuple[Value, Value]:
    """Two channels behind the heads' own whose products are slope * position / scale.

    The bias is slope * (key position - query position); what belongs to the query alone does not change a softmax.
    """
    g, kind = c.graph, c.target.dtype
    slopes = alibi_slopes(heads.count, heads.max_alibi_bias) / heads.scale
    row = np.zeros((heads.count, dim))
    row[:, heads.dim], row[:, heads.dim + 1] = slopes * COARSE, slopes
    rows = g.constant(f"alibi_{heads.count}_{dim}_{heads.max_alibi_bias:g}", row.astype(kind))

    def make() -> Value:
        where = positions(c, inputs)
        coarse = c.integer("alibi_coarse", COARSE)
        parts = [g.op("Div", where, coarse), g.op("Mod", where, coarse)]
        columns = g.op("Concat", *[g.op("Unsqueeze", part, g.ints(2)) for part in parts], axis=2)
        padded = g.op("Pad", g.cast(columns, kind), g.ints(0, 0, heads.dim, 0, 0, dim - heads.dim - 2))
        return g.op("Unsqueeze", padded, g.ints(2))

    key_row = c.shared(("alibi", heads.dim, dim), make)
    return g.op("Add", q, rows), g.op("Add", k, key_row)
