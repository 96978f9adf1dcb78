"""RWKV 6, and Qwen 2.5 with its time mixing."""

from converters.archs.common import decoder, gated_mlp, layer_count, layer_norm, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.spec import Block, ChannelMix, Layer, ModelSpec, TimeMix
from repack.errors import MobiusError

NO_HEADS = ("attention.head_count", "attention.head_count_kv")  # written as 0
HALF = 0.5  # what the stream is multiplied with where float16 would overflow


@architecture("rwkv6", "RWKV 6")
def rwkv6(h: Hparams) -> ModelSpec:
    """Time mixing and channel mixing, each of which sees the token before; the stream is halved every few layers."""
    for key in NO_HEADS:
        h.raw(key)
    mixer, every = _time_mix(h, shifts=2, bonus=True), h.integer("rescale_every_n_layers", 0)
    blocks = Block(mixer, "attn_norm"), Block(ChannelMix(h.positive("feed_forward_length")), "attn_norm_2")
    layers = tuple(
        Layer(i, blocks, closing_scale=HALF if every > 0 and (i + 1) % every == 0 else 1.0)
        for i in range(layer_count(h))
    )
    return decoder(h, layers, layer_norm(h), tied=False, embedding_norm=True)


@architecture("rwkv6qwen2", "QRWKV 6")
def rwkv6qwen2(h: Hparams) -> ModelSpec:
    """Qwen 2.5 with time mixing in the place of attention."""
    h.raw("attention.head_count")
    h.ignore("rescale_every_n_layers")
    mixer = _time_mix(h, shifts=1, key_heads=h.integer("attention.head_count_kv", 0))
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), tied=False)


def _time_mix(h: Hparams, *, shifts: int, key_heads: int = 0, bonus: bool = False) -> TimeMix:
    """No `key_heads`: one for each head."""
    dim, hidden, shifted = (
        h.positive("wkv.head_size"),
        h.positive("embedding_length"),
        h.positive("token_shift_count", 2),
    )
    heads = hidden // dim
    key_heads = key_heads or heads
    if hidden % dim or heads % key_heads or shifted != shifts:  # llama.cpp stops here too
        raise MobiusError(
            f"{key_heads} key heads of {dim}, {hidden} channels and {shifted} shifted tokens do not go together",
            "the metadata is damaged or unusual",
        )
    ranks = h.positive("time_mix_extra_dim"), h.positive("time_decay_extra_dim")
    return TimeMix(heads, key_heads, dim, *ranks, bonus, shifts)
