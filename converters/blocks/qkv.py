"""The projections of attention: three matrices or one, as one product where that is faster."""

from dataclasses import replace

import numpy as np

from converters.blocks.context import Build
from converters.blocks.linear import linear, saves_correction, stackable, stacked_linear
from converters.blocks.rope import split_half_order
from converters.graph.graph import Value
from converters.sources.source import Order
from converters.spec import Attention


def projections(
    b: Build, x: Value, module: Attention, prefix: str, packed: bool
) -> tuple[Value, Value | None, Value | None, *tuple[Value, ...]]:
    """q, k and v; or, if `packed` allows, all three side by side in the first, which the operator takes as well.

    Only q where another layer's keys and values are read. Behind them the gate of a gated attention.
    """
    g, hidden = b.c.graph, b.spec.hidden
    if module.gated:
        if f"{prefix}.attn_gate.weight" not in b.weights:
            return _gated_projections(b, x, module, prefix)
        gate = linear(b, x, f"{prefix}.attn_gate", module.heads * module.value_dim, hidden)
        return *projections(b, x, replace(module, gated=False), prefix, packed), gate
    rows = [
        (f"{prefix}.attn_q", module.heads * module.head_dim, head_order(module, module.heads)),
        (f"{prefix}.attn_k", module.kv_heads * module.head_dim, head_order(module, module.kv_heads)),
        (f"{prefix}.attn_v", module.kv_heads * module.value_dim, None),
    ]
    if module.cache_of is not None:
        return linear(b, x, *rows[0][:2], hidden, rows[0][2]), None, None
    if module.keys_as_values:
        assert module.value_dim == module.head_dim and rows[1][2] is None, "keys in the file's order are the values"
        q, k = (linear(b, x, name, count, hidden, order) for name, count, order in rows[:2])
        return q, k, k
    widths = [width for _, width, _ in rows]
    if f"{prefix}.attn_qkv.weight" in b.weights:
        all_rows = _joined_order(rows) if rows[0][2] is not None else None
        whole = linear(b, x, f"{prefix}.attn_qkv", sum(widths), hidden, all_rows)
        if packed:
            return whole, None, None
        q, k, v = g.multi_op("Split", whole, g.ints(*widths), outputs=3, axis=-1)
        return q, k, v
    if b.c.target.stack_projections and packed:
        names = [name for name, _, _ in rows]
        if stackable(b, names):
            return stacked_linear(b, x, f"{prefix}.attn_qkv", rows, hidden), None, None
        if saves_correction(b, names[0]) and stackable(b, names[:2]):
            both = stacked_linear(b, x, f"{prefix}.attn_qk", rows[:2], hidden)
            return g.op("Concat", both, linear(b, x, *rows[2][:2], hidden), axis=-1), None, None
    q, k, v = (linear(b, x, name, count, hidden, order) for name, count, order in rows)
    return q, k, v


def _gated_projections(b: Build, x: Value, module: Attention, prefix: str) -> tuple[Value, Value, Value, Value]:
    """q, k, v and the gate; of attn_q all queries' rows come first here, whole rows as the file has them."""
    g, hidden = b.c.graph, b.spec.hidden
    q_width, kv = module.heads * module.head_dim, module.kv_heads
    rows = np.arange(2 * q_width).reshape(module.heads, 2, module.head_dim)
    queries, gates = rows[:, 0].reshape(-1), rows[:, 1].reshape(-1)
    if (turned := head_order(module, module.heads)) is not None:
        queries = queries[turned]
    both = linear(b, x, f"{prefix}.attn_q", 2 * q_width, hidden, np.concatenate([queries, gates]))
    q, gate = g.multi_op("Split", both, g.ints(q_width, q_width), outputs=2, axis=-1)
    k = linear(b, x, f"{prefix}.attn_k", kv * module.head_dim, hidden, head_order(module, kv))
    return q, k, linear(b, x, f"{prefix}.attn_v", kv * module.value_dim, hidden), gate


def head_order(module: Attention, heads: int) -> Order:
    """Row order of q or k, where the file pairs channels otherwise than the graph."""
    if module.rope is None or not module.rope.interleaved:
        return None
    return split_half_order(heads, module.head_dim, module.rope.dim)


def _joined_order(rows: list[tuple[str, int, Order]]) -> Order:
    """Row order of q, k and v below one another."""
    parts, first = [], 0
    for _, count, order in rows:
        parts.append(first + (np.arange(count) if order is None else order))
        first += count
    return np.concatenate(parts)
