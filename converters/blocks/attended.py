"""The attention operator of a target."""

from converters.blocks.context import Attend, Builder
from converters.graph.graph import Value
from converters.operators.group_query_attention import Heads, cached_attention
from converters.operators.onnx_attention import grown_attention


def attended(b: Builder, q: Value, k: Value | None, v: Value | None, heads: Heads, attend: Attend) -> Value:
    """q, k and v (or all three in q, where `cached_attention` takes that) -> [batch, sequence, heads * value_dim]."""
    if b.target.standard:
        return grown_attention(b, q, k, v, heads, attend)
    return cached_attention(b, q, k, v, heads, attend)
