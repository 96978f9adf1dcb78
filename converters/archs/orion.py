"""Orion: Llama with layer norms."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("orion", "Orion")
def orion(h: Hparams) -> ModelSpec:
    """Biased layer norms, split-half rotary pairs and an untied head."""
    mixer = attention(h, rope(h, head_dim(h)))
    return decoder(h, stack(h, mixer, gated_mlp(h)), layer_norm(h), tied=False)
