"""Jamba, dense: state spaces of Mamba 1 beside attention without positions."""

from converters.archs.common import attention, decoder, gated_mlp, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.recurrent import mamba_mixer, without_heads
from converters.archs.registry import architecture
from converters.spec import ModelSpec, Module


@architecture("jamba", "Jamba, dense")
def jamba(h: Hparams) -> ModelSpec:
    """A layer without key/value heads is a state space, whose steps, B and C are normed."""
    recurrent, space = without_heads(h), mamba_mixer(h, normed=True)

    def mixer(layer: int) -> Module:
        return space if recurrent[layer] else attention(h, None, layer)

    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h))
