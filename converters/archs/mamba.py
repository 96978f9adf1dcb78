"""Mamba 1: state spaces with a decay for each channel and number of its state, alone."""

from converters.archs.common import decoder, layer_count, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.mamba2 import UNUSED
from converters.archs.recurrent import mamba_mixer
from converters.archs.registry import architecture
from converters.spec import Block, Layer, ModelSpec


@architecture("mamba", "Mamba 1, Falcon Mamba")
def mamba(h: Hparams) -> ModelSpec:
    """One block a layer, none of which attends; Falcon's norms inside have no weights."""
    for key in UNUSED:
        h.raw(key)
    block = Block(mamba_mixer(h, normed=h.flag("ssm.dt_b_c_rms", False)), "attn_norm")
    return decoder(h, tuple(Layer(i, (block,)) for i in range(layer_count(h))), rms_norm(h))
