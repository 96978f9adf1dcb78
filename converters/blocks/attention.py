"""Grouped-query attention: projections, norms and limits of q and k, and the output projection."""

from dataclasses import replace

import numpy as np

from converters.blocks.attended import attended
from converters.blocks.context import Attend, Builder, positions
from converters.blocks.linear import linear, stackable, stacked_linear
from converters.blocks.norm import norm, norm_of_each
from converters.blocks.rope import rotate, split_half_order
from converters.graph.graph import Value
from converters.operators.group_query_attention import Heads
from converters.spec import Attention, QueryTemperature
from converters.weights.weights import Rows

OPERATOR_ROPE_STEP = 16  # GroupQueryAttention turns multiples of so many channels only


def attention(b: Builder, x: Value, mixer: Attention, prefix: str, attend: Attend) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    late = mixer.qk_norm is not None and mixer.qk_norm.after_rope
    in_operator = not b.target.standard and not late and mixer.rope and mixer.rope.dim % OPERATOR_ROPE_STEP == 0
    outside = mixer.rope is not None and not in_operator
    heads = Heads(
        mixer.heads, mixer.kv_heads, mixer.head_dim, mixer.value_dim, mixer.scale, None if outside else mixer.rope,
        mixer.window, mixer.softcap, mixer.max_alibi_bias,
    )  # fmt: skip
    with b.graph.scope("attn"):
        heads = _with_norms(b, heads, mixer, prefix)
        plain = (mixer.qk_norm is None or heads.norms is not None) and mixer.temperature is None and not outside
        whole = plain and not b.target.standard and heads.whole(b.target.head_dim_multiple)
        q, k, v = _projections(b, x, mixer, prefix, whole)
        if mixer.clip:
            q = _clip(b, q, mixer.clip)
            k, v = (None if part is None else _clip(b, part, mixer.clip) for part in (k, v))
        if k is not None:
            if not late and heads.norms is None:
                q, k = _norm_heads(b, q, k, mixer, prefix)
            if outside and mixer.rope is not None:
                where = positions(b, attend)
                q = rotate(b, q, mixer.rope, mixer.heads, where)
                k = rotate(b, k, mixer.rope, mixer.kv_heads, where)
            if late:
                q, k = _norm_heads(b, q, k, mixer, prefix)
        if mixer.temperature is not None:
            q = _sharpen(b, q, mixer.temperature, attend)
        y = attended(b, q, k, v, heads, attend)
        width = mixer.heads * mixer.value_dim
        if mixer.sub_norm:
            y = norm(b, y, f"{prefix}.attn_sub_norm", width)
        return linear(b, y, f"{prefix}.attn_output", b.spec.hidden, width)


def _with_norms(b: Builder, heads: Heads, mixer: Attention, prefix: str) -> Heads:
    """The operator norms q and k itself where it can: a weight vector for all heads, before it turns them."""
    kind = mixer.qk_norm
    inside = b.target.norms_heads and heads.whole(b.target.head_dim_multiple) and b.spec.norm.kind == "rms"
    if not inside or kind is None or kind.span != "head" or kind.after_rope or heads.rope is None:
        return heads
    weights = [
        b.weights.vector(f"{prefix}.attn_{part}_norm.weight", (mixer.head_dim,), _order(mixer, 1)) for part in "qk"
    ]
    return replace(heads, norms=(weights[0], weights[1]))


def _projections(
    b: Builder, x: Value, mixer: Attention, prefix: str, whole: bool
) -> tuple[Value, Value | None, Value | None]:
    """q, k and v; or, if `whole` allows, all three side by side in the first, which the operator takes as well."""
    g, hidden = b.graph, b.spec.hidden
    rows = [
        (f"{prefix}.attn_q", mixer.heads * mixer.head_dim, _order(mixer, mixer.heads)),
        (f"{prefix}.attn_k", mixer.kv_heads * mixer.head_dim, _order(mixer, mixer.kv_heads)),
        (f"{prefix}.attn_v", mixer.kv_heads * mixer.value_dim, None),
    ]
    widths = [width for _, width, _ in rows]
    if f"{prefix}.attn_qkv.weight" in b.weights:
        all_rows = _joined_order(rows) if rows[0][2] is not None else None
        packed = linear(b, x, f"{prefix}.attn_qkv", sum(widths), hidden, all_rows)
        if whole:
            return packed, None, None
        q, k, v = g.op("Split", packed, g.ints(*widths), outputs=3, axis=-1)
        return q, k, v
    if b.target.stack_projections and whole:
        names = [name for name, _, _ in rows]
        kind = b.weights.kept(f"{names[0]}.weight")
        if stackable(b, names):
            return stacked_linear(b, x, f"{prefix}.attn_qkv", rows, hidden), None, None
        if kind and kind.offset and stackable(b, names[:2]):  # saves a correction, which is worth a Concat
            both = stacked_linear(b, x, f"{prefix}.attn_qk", rows[:2], hidden)
            return g.op("Concat", both, linear(b, x, *rows[2][:2], hidden), axis=-1), None, None
    q, k, v = (linear(b, x, name, count, hidden, order) for name, count, order in rows)
    return q, k, v


def _joined_order(rows: list[tuple[str, int, Rows | None]]) -> Rows:
    """Row order of q, k and v below one another."""
    parts, first = [], 0
    for _, count, order in rows:
        parts.append(first + (np.arange(count) if order is None else order))
        first += count
    return np.concatenate(parts)


def _order(mixer: Attention, heads: int) -> Rows | None:
    if mixer.rope is None or not mixer.rope.interleaved:
        return None
    return split_half_order(heads, mixer.head_dim, mixer.rope.dim)


def _clip(b: Builder, x: Value, limit: float) -> Value:
    result: Value = b.graph.op("Clip", x, b.number("clip_low", -limit), b.number("clip_high", limit))
    return result


def _norm_heads(b: Builder, q: Value, k: Value, mixer: Attention, prefix: str) -> tuple[Value, Value]:
    q = _head_norm(b, q, mixer, mixer.heads, f"{prefix}.attn_q_norm")
    return q, _head_norm(b, k, mixer, mixer.kv_heads, f"{prefix}.attn_k_norm")


def _head_norm(b: Builder, x: Value, mixer: Attention, heads: int, name: str) -> Value:
    """The norm of q or k that the spec asks for, if any."""
    kind, g, dim = mixer.qk_norm, b.graph, mixer.head_dim
    if kind is None:
        return x
    with g.scope(name.rsplit(".", 1)[-1]):
        if kind.span == "width":
            return norm(b, x, name, heads * dim, order=_order(mixer, heads))
        split = g.op("Reshape", x, g.ints(0, 0, heads, dim))
        if kind.span == "head":
            split = norm(b, split, name, dim, order=_order(mixer, 1))
        else:
            split = norm_of_each(b, split, name, (heads, dim), _order(mixer, heads))
        result: Value = g.op("Reshape", split, g.ints(0, 0, heads * dim))
    return result


def _sharpen(b: Builder, q: Value, temperature: QueryTemperature, attend: Attend) -> Value:
    """Queries times 1 + scale * ln(floor(position / floor) + 1)."""
    g = b.graph

    def make() -> Value:
        steps = g.op(
            "Div", positions(b, attend), g.constant("temperature_floor", np.array(temperature.floor, np.int64))
        )
        one = b.number("one", 1.0, "float32")
        log = g.op("Log", g.op("Add", g.cast(steps, "float32"), one))
        factor = g.op("Add", g.op("Mul", log, b.number("temperature_scale", temperature.scale, "float32")), one)
        if b.target.dtype != "float32":
            factor = g.cast(factor, b.target.dtype)
        found: Value = g.op("Unsqueeze", factor, g.ints(2))
        return found

    result: Value = g.op("Mul", q, b.shared(temperature, make))
    return result
