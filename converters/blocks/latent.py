"""Multi-head latent attention, unfolded into ordinary heads (MiniCPM3)."""

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

    Queries and keys are [nope | rotary] channels; the rotary part of the keys is one head, repeated for all.
    """
    g, hidden, rotary, prefix = b.c.graph, b.spec.hidden, module.rope.dim, place.prefix
    count, nope, value = module.heads, module.nope_dim, module.value_dim
    dim, rank = nope + rotary, module.q_rank
    with g.scope("attn"):
        where = positions(b.c, inputs)
        low = norm(b, linear(b, x, f"{prefix}.attn_q_a", rank, hidden), f"{prefix}.attn_q_a_norm", rank)
        q = g.op("Reshape", linear(b, low, f"{prefix}.attn_q_b", count * dim, rank), g.ints(0, 0, count, dim))
        q_nope, q_rotary = g.multi_op("Split", q, g.ints(nope, rotary), outputs=2, axis=-1)
        q_rotary = _rotated(b, q_rotary, module, count, where)
        both = linear(b, x, f"{prefix}.attn_kv_a_mqa", module.kv_rank + rotary, hidden)
        latent, k_rotary = g.multi_op("Split", both, g.ints(module.kv_rank, rotary), outputs=2, axis=-1)
        latent = norm(b, latent, f"{prefix}.attn_kv_a_norm", module.kv_rank)
        kv = linear(b, latent, f"{prefix}.attn_kv_b", count * (nope + value), module.kv_rank)
        kv = g.op("Reshape", kv, g.ints(0, 0, count, nope + value))
        k_nope, v = g.multi_op("Split", kv, g.ints(nope, value), outputs=2, axis=-1)
        k_rotary = g.op("Tile", _rotated(b, k_rotary, module, 1, where), g.ints(1, 1, count, 1))
        q = g.op("Reshape", g.op("Concat", q_nope, q_rotary, axis=-1), g.ints(0, 0, count * dim))
        k = g.op("Reshape", g.op("Concat", k_nope, k_rotary, axis=-1), g.ints(0, 0, count * dim))
        v = g.op("Reshape", v, g.ints(0, 0, count * value))
        heads = Heads(count, count, dim, value, module.scale)
        y = b.c.operators.attention.emit(b.c, q, k, v, heads, place.layer, inputs)
        return linear(b, y, f"{prefix}.attn_output", hidden, count * value)


def _rotated(b: Build, x: Value, module: LatentAttention, heads: int, where: Value) -> Value:
    """Rotate all channels; [batch, sequence, (heads,) channels] -> [batch, sequence, heads, channels]."""
    g, dim = b.c.graph, module.rope.dim
    flat = g.op("Reshape", x, g.ints(0, 0, heads * dim))
    return g.op("Reshape", rotate(b, flat, module.rope, heads, where), g.ints(0, 0, heads, dim))
