"""The attention operator of a target."""

from converters.blocks.cached_attention import Heads, cached_attention
from converters.blocks.grown_attention import grown_attention
from converters.builder import Attend, Builder
from converters.graph import Value


def attended(b: Builder, q: Value, k: Value | None, v: Value | None, heads: Heads, attend: Attend) -> Value:
    """q, k and v (or all three in q, where `cached_attention` takes that) -> [batch, sequence, heads * value_dim]."""
    if b.target.standard:
        return grown_attention(b, q, k, v, heads, attend)
    return cached_attention(b, q, k, v, heads, attend)
