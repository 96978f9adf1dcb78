"""RWKV 6 and 7, and Qwen 2.5 with their time mixing."""

from converters.archs.common import decoder, gated_mlp, layer_count, layer_norm, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.spec import Block, ChannelMix, Layer, ModelSpec, Module, ReplacingMix, TimeMix
from repack.errors import MobiusError

NO_HEADS = ("attention.head_count", "attention.head_count_kv")  # written as 0
HALF = 0.5  # what the stream is multiplied with where float16 would overflow
FIRST_VALUES = ("blk.0.time_mix_v[012].weight",)  # loaded, though there is no layer before whose values could join


@architecture("rwkv6", "RWKV 6")
def rwkv6(h: Hparams) -> ModelSpec:
    """Time mixing and channel mixing, each of which sees the token before; the stream is halved every few layers."""
    for key in NO_HEADS:
        h.raw(key)
    mixer, every = _time_mix(h, shifts=2, bonus=True), h.integer("rescale_every_n_layers", 0)
    blocks = _blocks(h, mixer)
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


@architecture("rwkv7", "RWKV 7")
def rwkv7(h: Hparams) -> ModelSpec:
    """As RWKV 6, but the time mixing replaces what keys stood for, and the channel mixing has no gate."""
    blocks = _blocks(h, _replacing_mix(h, shifts=2), gated=False)
    layers = tuple(Layer(i, blocks) for i in range(layer_count(h)))
    return decoder(h, layers, layer_norm(h), tied=False, embedding_norm=True, ignored=FIRST_VALUES)


@architecture("arwkv7", "ARWKV 7")
def arwkv7(h: Hparams) -> ModelSpec:
    """Qwen 2.5 with the time mixing of RWKV 7 in the place of attention, with or without its gate and norm."""
    gated = h.has_tensor("blk.0.time_mix_g1.weight") and h.has_tensor("blk.0.time_mix_g2.weight")
    normed = h.has_tensor("blk.0.time_mix_ln.weight") and h.has_tensor("blk.0.time_mix_ln.bias")
    mixer = _replacing_mix(h, shifts=1, gated=gated, normed=normed)
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), tied=False, ignored=FIRST_VALUES)


def _blocks(h: Hparams, mixer: Module, *, gated: bool = True) -> tuple[Block, Block]:
    feeds = ChannelMix(h.positive("feed_forward_length"), gated)
    return Block(mixer, "attn_norm"), Block(feeds, "attn_norm_2")


def _heads(h: Hparams, shifts: int, key_heads: int = 0) -> tuple[int, int]:
    """Heads and their channels. No `key_heads`: one for each head."""
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
    return heads, dim


def _time_mix(h: Hparams, *, shifts: int, key_heads: int = 0, bonus: bool = False) -> TimeMix:
    """No `key_heads`: one for each head."""
    heads, dim = _heads(h, shifts, key_heads)
    ranks = h.positive("time_mix_extra_dim"), h.positive("time_decay_extra_dim")
    return TimeMix(heads, key_heads or heads, dim, *ranks, bonus, shifts)


def _replacing_mix(h: Hparams, *, shifts: int, gated: bool = True, normed: bool = True) -> ReplacingMix:
    for key in NO_HEADS:
        h.raw(key)
    h.ignore("rescale_every_n_layers")
    heads, dim = _heads(h, shifts)
    decay, rate, value = (h.positive(f"attention.{name}_lora_rank") for name in ("decay", "iclr", "value_residual_mix"))
    gate = h.integer("attention.gate_lora_rank", 0)
    return ReplacingMix(heads, dim, decay, rate, value, gate if gated else 0, normed, shifts)
