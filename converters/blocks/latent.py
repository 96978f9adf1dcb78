"""Multi-head latent attention, unfolded into ordinary heads."""

from converters.blocks.context import Build
from converters.blocks.linear import linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.blocks.rope import rotate
from converters.graph.context import Heads, SequenceInputs
from converters.graph.graph import Value
from converters.graph.positions import positions
from converters.spec import LatentAttention


@emits(LatentAttention)
def latent_attention(b: Build, x: Value, module: LatentAttention, place: Place, inputs: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden].

    Queries and keys are [nope | shared] channels; the shared part of the keys is one head, repeated for all.
    """
    g, hidden, shared, prefix = b.c.graph, b.spec.hidden, module.shared_dim, place.prefix
    count, nope, value = module.heads, module.nope_dim, module.value_dim
    dim = nope + shared
    with g.scope("attn"):
        where = None if module.rope is None else positions(b.c, inputs)
        q = g.op("Reshape", _queries(b, x, module, prefix), g.ints(0, 0, count, dim))
        q_nope, q_shared = g.multi_op("Split", q, g.ints(nope, shared), outputs=2, axis=-1)
        q_shared = _rotated(b, q_shared, module, count, where)
        both = linear(b, x, f"{prefix}.attn_kv_a_mqa", module.kv_rank + shared, hidden)
        latent, k_shared = g.multi_op("Split", both, g.ints(module.kv_rank, shared), outputs=2, axis=-1)
        latent = norm(b, latent, f"{prefix}.attn_kv_a_norm", module.kv_rank)
        k_nope, v = _unfolded(b, latent, module, prefix)
        k_shared = g.op("Tile", _rotated(b, k_shared, module, 1, where), g.ints(1, 1, count, 1))
        q = g.op("Reshape", g.op("Concat", q_nope, q_shared, axis=-1), g.ints(0, 0, count * dim))
        k = g.op("Reshape", g.op("Concat", k_nope, k_shared, axis=-1), g.ints(0, 0, count * dim))
        v = g.op("Reshape", v, g.ints(0, 0, count * value))
        heads = Heads(count, count, dim, value, module.scale)
        y = b.c.operators.attention.emit(b.c, q, k, v, heads, place.layer, inputs)
        return linear(b, y, f"{prefix}.attn_output", hidden, count * value)


def _queries(b: Build, x: Value, module: LatentAttention, prefix: str) -> Value:
    """By way of fewer channels, where the model has these: [batch, sequence, heads * channels]."""
    width, rank, hidden = module.heads * module.head_dim, module.q_rank, b.spec.hidden
    if not rank:
        return linear(b, x, f"{prefix}.attn_q", width, hidden)
    low = norm(b, linear(b, x, f"{prefix}.attn_q_a", rank, hidden), f"{prefix}.attn_q_a_norm", rank)
    return linear(b, low, f"{prefix}.attn_q_b", width, rank)


def _unfolded(b: Build, latent: Value, module: LatentAttention, prefix: str) -> tuple[Value, Value]:
    """Keys, but for the shared channels, and values of all heads: [batch, sequence, heads, channels].

    Newer files have two tensors for the one that makes both, that of the keys turned around, head by head.
    """
    g, rank, count, nope, value = b.c.graph, module.kv_rank, module.heads, module.nope_dim, module.value_dim
    if f"{prefix}.attn_k_b.weight" not in b.weights:
        kv = linear(b, latent, f"{prefix}.attn_kv_b", count * (nope + value), rank)
        kv = g.op("Reshape", kv, g.ints(0, 0, count, nope + value))
        k, v = g.multi_op("Split", kv, g.ints(nope, value), outputs=2, axis=-1)
        return k, v
    keys = b.weights.vector(f"{prefix}.attn_k_b.weight", (count, rank, nope))
    keys = g.op("Reshape", g.op("Transpose", keys, perm=[1, 0, 2]), g.ints(rank, count * nope))
    values = b.weights.vector(f"{prefix}.attn_v_b.weight", (count, value, rank))
    values = g.op("Reshape", values, g.ints(count * value, rank))
    k = g.op("Reshape", g.op("MatMul", latent, keys), g.ints(0, 0, count, nope))
    v = b.c.operators.matmul_transposed(b.c, latent, values)
    return k, g.op("Reshape", v, g.ints(0, 0, count, value))


def _rotated(b: Build, x: Value, module: LatentAttention, heads: int, where: Value | None) -> Value:
    """Rotate all channels; [batch, sequence, (heads,) channels] -> [batch, sequence, heads, channels]."""
    g, dim = b.c.graph, module.shared_dim
    if module.rope is None or where is None:
        return g.op("Reshape", x, g.ints(0, 0, heads, dim))
    flat = g.op("Reshape", x, g.ints(0, 0, heads * dim))
    return g.op("Reshape", rotate(b, flat, module.rope, heads, where), g.ints(0, 0, heads, dim))
