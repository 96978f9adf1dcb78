"""Multi-head latent attention, unfolded into ordinary heads (MiniCPM3)."""

from converters.blocks.attended import attended
from converters.blocks.context import Attend, Builder, positions
from converters.blocks.linear import linear
from converters.blocks.norm import norm
from converters.blocks.rope import rotate
from converters.graph.graph import Value
from converters.operators.group_query_attention import Heads
from converters.spec import LatentAttention


def latent_attention(b: Builder, x: Value, mixer: LatentAttention, prefix: str, attend: Attend) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden].

    Queries and keys are [nope | turned] channels; the turned part of the keys is one head, repeated for all.
    """
    g, hidden, turned = b.graph, b.spec.hidden, mixer.rope.dim
    count, nope, value = mixer.heads, mixer.nope_dim, mixer.value_dim
    dim = nope + turned
    with g.scope("attn"):
        where = positions(b, attend)
        low = norm(b, linear(b, x, f"{prefix}.attn_q_a", mixer.q_rank, hidden), f"{prefix}.attn_q_a_norm", mixer.q_rank)
        q = g.op("Reshape", linear(b, low, f"{prefix}.attn_q_b", count * dim, mixer.q_rank), g.ints(0, 0, count, dim))
        q_nope, q_turned = g.op("Split", q, g.ints(nope, turned), outputs=2, axis=-1)
        q_turned = _turn(b, q_turned, mixer, count, where)
        both = linear(b, x, f"{prefix}.attn_kv_a_mqa", mixer.kv_rank + turned, hidden)
        latent, k_turned = g.op("Split", both, g.ints(mixer.kv_rank, turned), outputs=2, axis=-1)
        latent = norm(b, latent, f"{prefix}.attn_kv_a_norm", mixer.kv_rank)
        kv = linear(b, latent, f"{prefix}.attn_kv_b", count * (nope + value), mixer.kv_rank)
        kv = g.op("Reshape", kv, g.ints(0, 0, count, nope + value))
        k_nope, v = g.op("Split", kv, g.ints(nope, value), outputs=2, axis=-1)
        k_turned = g.op("Tile", _turn(b, k_turned, mixer, 1, where), g.ints(1, 1, count, 1))
        q = g.op("Reshape", g.op("Concat", q_nope, q_turned, axis=-1), g.ints(0, 0, count * dim))
        k = g.op("Reshape", g.op("Concat", k_nope, k_turned, axis=-1), g.ints(0, 0, count * dim))
        v = g.op("Reshape", v, g.ints(0, 0, count * value))
        y = attended(b, q, k, v, Heads(count, count, dim, value, mixer.scale), attend)
        return linear(b, y, f"{prefix}.attn_output", hidden, count * value)


def _turn(b: Builder, x: Value, mixer: LatentAttention, heads: int, where: Value) -> Value:
    """Turn all channels; [batch, sequence, (heads,) channels] -> [batch, sequence, heads, channels]."""
    g, dim = b.graph, mixer.rope.dim
    flat = g.op("Reshape", x, g.ints(0, 0, heads * dim))
    turned = rotate(b, flat, mixer.rope, heads, where)
    result: Value = g.op("Reshape", turned, g.ints(0, 0, heads, dim))
    return result
