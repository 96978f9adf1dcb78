"""ONNX's own Attention operator, with a cache that grows by concatenation and a mask made here."""

import numpy as np

from converters.blocks.context import Attend, Builder, positions
from converters.graph.graph import Value
from converters.operators.group_query_attention import CACHE_AXES, Heads, alibi_slopes

BLOCKED = -1e4  # added to the score of a position that must not be seen; float16 holds it


def grown_attention(b: Builder, q: Value, k: Value | None, v: Value | None, heads: Heads, attend: Attend) -> Value:
    """As `cached_attention`, for q, k and v in three pieces that are turned already."""
    assert k is not None and v is not None and heads.rope is None
    g, index = b.graph, b.caches
    b.caches += 1
    sizes = {"key": heads.dim, "value": heads.value_dim}
    past = [
        g.input(f"past_key_values.{index}.{part}", b.target.dtype, (CACHE_AXES[0], heads.kv_count, CACHE_AXES[1], dim))
        for part, dim in sizes.items()
    ]
    mask = b.shared(("mask", heads.window, heads.count * bool(heads.max_alibi_bias), heads.max_alibi_bias),
                    lambda: _mask(b, heads, attend))  # fmt: skip
    y, *present = g.op(
        "Attention", q, k, v, mask, *past, outputs=3, scale=heads.scale, softcap=heads.softcap,
        q_num_heads=heads.count, kv_num_heads=heads.kv_count,
    )  # fmt: skip
    for (part, dim), value in zip(sizes.items(), present, strict=True):
        shape = (CACHE_AXES[0], heads.kv_count, CACHE_AXES[2], dim)
        g.output(value, f"present.{index}.{part}", b.target.dtype, shape)
    result: Value = y
    return result


def _mask(b: Builder, heads: Heads, attend: Attend) -> Value:
    """What is added to the scores: float [batch, 1 or heads, sequence, total]."""
    g, kind = b.graph, b.target.dtype
    with g.scope("mask"):
        limit = g.constant("position_count", np.array(b.context_length, np.int64))
        zero, one = (
            g.constant("position_first", np.array(0, np.int64)),
            g.constant("position_step", np.array(1, np.int64)),
        )
        total = g.op("Slice", g.op("Shape", attend.mask), g.ints(1), g.ints(2))
        keys = g.op("Slice", g.op("Range", zero, limit, one), g.ints(0), total, g.ints(0))
        queries = g.op("Unsqueeze", positions(b, attend), g.ints(1, 3))
        behind = g.op("Sub", queries, keys)  # [batch, 1, sequence, total]: how far back a key lies
        seen = g.op("And", g.op("GreaterOrEqual", behind, zero), _present(b, attend))
        if heads.window is not None:
            seen = g.op(
                "And",
                seen,
                g.op("Less", behind, g.constant(f"window_{heads.window}", np.array(heads.window, np.int64))),
            )
        nothing = b.number("zero", 0.0)
        if heads.max_alibi_bias:
            slopes = -alibi_slopes(heads.count, heads.max_alibi_bias).reshape(1, -1, 1, 1)
            rows = g.constant(f"alibi_{heads.count}_{heads.max_alibi_bias:g}", slopes.astype(kind))
            nothing = g.op("Mul", g.cast(behind, kind), rows)
        mask: Value = g.op("Where", seen, nothing, b.number("blocked", BLOCKED))
    return mask


def _present(b: Builder, attend: Attend) -> Value:
    """Which positions hold a token: bool [batch, 1, 1, total]."""
    g = b.graph
    found: Value = g.op("Unsqueeze", g.op("Cast", attend.mask, to=9), g.ints(1, 2))
    return found
