"""Mamba 2: state spaces alone."""

from converters.archs.common import decoder, layer_count, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.recurrent import mamba2_mixer
from converters.archs.registry import architecture
from converters.spec import Block, Layer, ModelSpec

UNUSED = ("attention.head_count", "attention.head_count_kv", "feed_forward_length")  # of no layer; written as 0


@architecture("mamba2", "Mamba 2, Codestral Mamba")
def mamba2(h: Hparams) -> ModelSpec:
    """One block a layer, none of which attends."""
    for key in UNUSED:
        h.raw(key)
    block = Block(mamba2_mixer(h), "attn_norm")
    return decoder(h, tuple(Layer(i, (block,)) for i in range(layer_count(h))), rms_norm(h))
