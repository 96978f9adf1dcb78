"""Grouped-query attention with rotary embedding and an in-place key/value cache."""

from converters.blocks.linear import linear, stackable, stacked_linear
from converters.blocks.norm import normalize
from converters.blocks.rope import rotary_tables, split_half_order
from converters.builder import Attend, Builder
from converters.graph import MICROSOFT, Value
from converters.spec import Attention
from converters.weights import Rows

CACHE_AXES = ("batch_size", "past_sequence_length", "total_sequence_length")


def attention(b: Builder, x: Value, mixer: Attention, index: int, attend: Attend) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]; adds layer `index`'s cache to inputs and outputs."""
    g, prefix = b.graph, f"blk.{index}"
    width = mixer.heads * mixer.head_dim
    past = [_cache_input(b, mixer, index, part) for part in ("key", "value")]
    with g.scope("attn"):
        q, k, v = _projections(b, x, mixer, prefix)
        cos, sin = rotary_tables(b, mixer.rope) if mixer.rope else (None, None)
        y, *present = g.op(
            "GroupQueryAttention", q, k, v, *past, attend.sequence_lengths, attend.total_length, cos, sin,
            domain=MICROSOFT, outputs=3,
            num_heads=mixer.heads, kv_num_heads=mixer.kv_heads, scale=mixer.scale, softcap=mixer.softcap,
            local_window_size=mixer.window if mixer.window is not None else -1,
            do_rotary=int(mixer.rope is not None), rotary_interleaved=0,
        )  # fmt: skip
        for part, value in zip(("key", "value"), present, strict=True):
            shape = (CACHE_AXES[0], mixer.kv_heads, CACHE_AXES[2], mixer.head_dim)
            g.output(value, f"present.{index}.{part}", b.target.dtype, shape)
        return linear(b, y, f"{prefix}.attn_output", b.spec.hidden, width)


def _projections(b: Builder, x: Value, mixer: Attention, prefix: str) -> tuple[Value, Value | None, Value | None]:
    """q, k and v; or all three side by side in the first, which the operator takes as well."""
    hidden, width, kv_width = b.spec.hidden, mixer.heads * mixer.head_dim, mixer.kv_heads * mixer.head_dim
    rows = [
        (f"{prefix}.attn_q", width, _order(mixer, mixer.heads)),
        (f"{prefix}.attn_k", kv_width, _order(mixer, mixer.kv_heads)),
        (f"{prefix}.attn_v", kv_width, None),
    ]
    if b.target.stack_projections and not mixer.qk_norm:
        names = [name for name, _, _ in rows]
        kind = b.weights.kept(f"{names[0]}.weight")
        if stackable(b, names):
            return stacked_linear(b, x, f"{prefix}.attn_qkv", rows, hidden), None, None
        if kind and kind.offset and stackable(b, names[:2]):  # saves a correction, which is worth a Concat
            both = stacked_linear(b, x, f"{prefix}.attn_qk", rows[:2], hidden)
            return b.graph.op("Concat", both, linear(b, x, *rows[2][:2], hidden), axis=-1), None, None
    q, k, v = (linear(b, x, name, count, hidden, order) for name, count, order in rows)
    if mixer.qk_norm:
        q = _head_norm(b, q, mixer, mixer.heads, f"{prefix}.attn_q_norm")
        k = _head_norm(b, k, mixer, mixer.kv_heads, f"{prefix}.attn_k_norm")
    return q, k, v


def _cache_input(b: Builder, mixer: Attention, index: int, part: str) -> Value:
    shape = (CACHE_AXES[0], mixer.kv_heads, CACHE_AXES[1], mixer.head_dim)
    return b.graph.input(f"past_key_values.{index}.{part}", b.target.dtype, shape)


def _order(mixer: Attention, heads: int) -> Rows | None:
    if mixer.rope is None or not mixer.rope.interleaved:
        return None
    return split_half_order(heads, mixer.head_dim, mixer.rope.dim)


def _head_norm(b: Builder, x: Value, mixer: Attention, heads: int, name: str) -> Value:
    """RMS norm over each head's channels."""
    g = b.graph
    weight = b.weights.vector(f"{name}.weight", mixer.head_dim, _order(mixer, 1))
    with g.scope(name.rsplit(".", 1)[-1]):
        split = g.op("Reshape", x, g.ints(0, 0, heads, mixer.head_dim))
        result: Value = g.op("Reshape", normalize(b, split, weight), g.ints(0, 0, heads * mixer.head_dim))
    return result
