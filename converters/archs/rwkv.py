"""RWKV's time mixing in models that were made of others."""

from converters.archs.common import decoder, gated_mlp, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.spec import ModelSpec, TimeMix
from repack.errors import MobiusError


@architecture("rwkv6qwen2", "QRWKV 6")
def rwkv6qwen2(h: Hparams) -> ModelSpec:
    """Qwen 2 with time mixing in the place of attention; one token is shifted."""
    h.ignore("attention.head_count", "rescale_every_n_layers")
    dim, hidden, shifted = (
        h.positive("wkv.head_size"),
        h.positive("embedding_length"),
        h.positive("token_shift_count", 2),
    )
    heads = hidden // dim
    key_heads = h.integer("attention.head_count_kv", 0) or heads
    if hidden % dim or heads % key_heads or shifted != 1:  # llama.cpp stops here too
        raise MobiusError(
            f"{key_heads} key heads of {dim}, {hidden} channels and {shifted} shifted tokens do not go together",
            "the metadata is damaged or unusual",
        )
    mixer = TimeMix(heads, key_heads, dim, h.positive("time_mix_extra_dim"), h.positive("time_decay_extra_dim"))
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), tied=False)
