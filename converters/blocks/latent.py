"""Multi-head latent attention, unfolded into ordinary heads, or with one latent head that all queries share."""

import numpy as np

from converters.blocks.attention import sharpen
from converters.blocks.context import Build
from converters.blocks.head_products import head_products
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.blocks.rope import rotate, split_half_order
from converters.graph.context import Heads, SequenceInputs
from converters.graph.graph import Value
from converters.graph.positions import positions
from converters.sources.source import Order
from converters.spec import LatentAttention


@emits(LatentAttention)
def latent_attention(b: Build, x: Value, module: LatentAttention, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden].

    Queries and keys are [nope | shared] channels; the shared part of the keys, mostly rotary, is one head.
    """
    width, prefix = module.heads * module.value_dim, place.prefix
    with b.c.graph.scope("attn"):
        where = None if module.rope is None else positions(b.c, inputs)
        q_nope, q_rotary = _queries(b, x, module, prefix, where)
        latent, k_rotary = _latent(b, x, module, prefix, where)
        shared = Heads(module.heads, 1, module.kv_rank + module.shared_dim, module.kv_rank, module.scale, module.window)
        if module.absorbed and b.c.operators.attention.holds(b.c.target, shared):
            q = head_products(b, q_nope, f"{prefix}.attn_k_b.weight", (module.heads, module.kv_rank, module.nope_dim))
            q, k = _joined(b, q, q_rotary, shared), b.c.graph.op("Concat", latent, _flat(b, k_rotary), axis=-1)
            y = _attend(b, q, k, latent, shared, module, place, inputs)
            y = b.c.graph.op("Reshape", y, b.c.graph.ints(0, 0, module.heads, module.kv_rank))
            shape = (module.heads, module.value_dim, module.kv_rank)
            y = _flat(b, head_products(b, y, f"{prefix}.attn_v_b.weight", shape))
        else:
            own = Heads(module.heads, module.heads, module.head_dim, module.value_dim, module.scale, module.window)
            k_nope, v = _unfolded(b, latent, module, prefix)
            k_rotary = b.c.graph.op("Tile", k_rotary, b.c.graph.ints(1, 1, module.heads, 1))
            q, k = _joined(b, q_nope, q_rotary, own), _joined(b, k_nope, k_rotary, own)
            y = _attend(b, q, k, v, own, module, place, inputs)
        return linear(b, y, f"{prefix}.attn_output", b.spec.hidden, width)


def _queries(b: Build, x: Value, module: LatentAttention, prefix: str, where: Value | None) -> tuple[Value, Value]:
    """Both parts, [batch, sequence, heads, channels]."""
    g, rank, rotary, dim = b.c.graph, module.q_rank, module.shared_dim, module.head_dim
    order = _order(module, module.heads, dim)
    if rank:
        low = norm(b, linear(b, x, f"{prefix}.attn_q_a", rank, b.spec.hidden), f"{prefix}.attn_q_a_norm", rank)
        q = linear(b, low, f"{prefix}.attn_q_b", module.heads * dim, rank, order)
    else:
        q = linear(b, x, f"{prefix}.attn_q", module.heads * dim, b.spec.hidden, order)
    q = g.op("Reshape", q, g.ints(0, 0, module.heads, dim))
    nope, turned = g.multi_op("Split", q, g.ints(module.nope_dim, rotary), outputs=2, axis=-1)
    return nope, _rotated(b, turned, module, module.heads, where)


def _latent(b: Build, x: Value, module: LatentAttention, prefix: str, where: Value | None) -> tuple[Value, Value]:
    """The latent channels [batch, sequence, rank], normed, and the rotary key [batch, sequence, 1, channels]."""
    g, rank, rotary = b.c.graph, module.kv_rank, module.shared_dim
    both = linear(b, x, f"{prefix}.attn_kv_a_mqa", rank + rotary, b.spec.hidden, _order(module, 1, rank + rotary))
    latent, key = g.multi_op("Split", both, g.ints(rank, rotary), outputs=2, axis=-1)
    return norm(b, latent, f"{prefix}.attn_kv_a_norm", rank), _rotated(b, key, module, 1, where)


def _unfolded(b: Build, latent: Value, module: LatentAttention, prefix: str) -> tuple[Value, Value]:
    """Keys [batch, sequence, heads, nope], and values [batch, sequence, heads * channels]."""
    g, count, nope, value, rank = b.c.graph, module.heads, module.nope_dim, module.value_dim, module.kv_rank
    if not module.absorbed:
        kv = linear(b, latent, f"{prefix}.attn_kv_b", count * (nope + value), rank)
        kv = g.op("Reshape", kv, g.ints(0, 0, count, nope + value))
        k, v = g.multi_op("Split", kv, g.ints(nope, value), outputs=2, axis=-1)
        return k, _flat(b, v)
    # Its blocks lie along the channels that this product sums over for queries, and makes of keys: no product of
    # quantized matrices has them so.
    out = b.weights.dense_stack(f"{prefix}.attn_k_b.weight", (count, rank, nope), "floats, to unfold keys")
    k = g.op("Transpose", g.op("MatMul", g.op("Unsqueeze", latent, g.ints(1)), out), perm=[0, 2, 1, 3])
    return k, b.weights.experts_below(f"{prefix}.attn_v_b", count, value, rank).product(b.c, latent)


def _attend(
    b: Build, q: Value, k: Value, v: Value, heads: Heads, module: LatentAttention, place: Place, inputs: SequenceInputs
) -> Value:
    if module.temperature is not None:
        q = sharpen(b, q, module.temperature, inputs)
    return b.c.operators.attention.emit(b.c, q, k, v, heads, place.layer, inputs)


def _order(module: LatentAttention, heads: int, dim: int) -> Order:
    """Row order of heads whose last channels turn, where the file pairs channels otherwise than the graph."""
    if module.rope is None or not module.rope.interleaved:
        return None
    rotary = module.shared_dim
    channel = np.arange(dim)
    channel[-rotary:] = dim - rotary + split_half_order(1, rotary, rotary)
    return (np.arange(heads)[:, None] * dim + channel).reshape(-1)


def _rotated(b: Build, x: Value, module: LatentAttention, heads: int, where: Value | None) -> Value:
    """Rotate all channels; [batch, sequence, (heads,) channels] -> [batch, sequence, heads, channels]."""
    g, dim = b.c.graph, module.shared_dim
    if module.rope is None or where is None:
        return g.op("Reshape", x, g.ints(0, 0, heads, dim))
    flat = g.op("Reshape", x, g.ints(0, 0, heads * dim))
    return g.op("Reshape", rotate(b, flat, module.rope, heads, where), g.ints(0, 0, heads, dim))


def _joined(b: Build, nope: Value, rotary: Value, heads: Heads) -> Value:
    """Both parts of each head, [batch, sequence, heads * channels]."""
    return _flat(b, b.c.graph.op("Concat", nope, rotary, axis=-1))


def _flat(b: Build, x: Value) -> Value:
    """[batch, sequence, heads, channels] -> [batch, sequence, heads * channels]."""
    return b.c.graph.op("Reshape", x, b.c.graph.ints(0, 0, -1))
