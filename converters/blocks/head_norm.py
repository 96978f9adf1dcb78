"""Norms of q, k and v, head by head or over all heads together."""

from converters.blocks.context import Build
from converters.blocks.norm import norm, norm_of_each, plain_norm
from converters.blocks.qkv import head_order
from converters.graph.graph import Value
from converters.spec import Attention


def head_norm(b: Build, x: Value, module: Attention, heads: int, name: str) -> Value:
    """The norm of q or k [batch, sequence, heads * head_dim] that the spec asks for, if any."""
    kind, g, dim = module.qk_norm, b.c.graph, module.head_dim
    if kind is None:
        return x
    with g.scope(name.rsplit(".", 1)[-1]):
        if kind.span == "width":
            return norm(b, x, name, heads * dim, order=head_order(module, heads))
        split = g.op("Reshape", x, g.ints(0, 0, heads, dim))
        if not kind.weights:
            split = plain_norm(b, split, dim)
        elif kind.span == "head":
            split = norm(b, split, name, dim, order=head_order(module, 1))
        else:
            split = norm_of_each(b, split, name, (heads, dim), head_order(module, heads))
        return g.op("Reshape", split, g.ints(0, 0, heads * dim))


def plain_head_norm(b: Build, x: Value, heads: int, dim: int) -> Value:
    """The norm of each head of x [batch, sequence, heads * dim], without weights."""
    g = b.c.graph
    with g.scope("attn_v_norm"):
        split = plain_norm(b, g.op("Reshape", x, g.ints(0, 0, heads, dim)), dim)
        return g.op("Reshape", split, g.ints(0, 0, heads * dim))
