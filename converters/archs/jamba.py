"""Jamba: state spaces of Mamba 1 beside attention without positions."""

from converters.archs.common import attention, decoder, gated_mlp, rms_norm
from converters.archs.experts import EXPERT_SCALES, experts
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.recurrent import mamba_mixer, without_heads
from converters.archs.registry import architecture
from converters.spec import ModelSpec, Module


@architecture("jamba", "Jamba")
def jamba(h: Hparams) -> ModelSpec:
    """A layer without key/value heads is a state space, whose steps, B and C are normed; one with a router, experts."""
    recurrent, space = without_heads(h), mamba_mixer(h, normed=True)

    def mixer(layer: int) -> Module:
        return space if recurrent[layer] else attention(h, None, layer)

    def feeds(layer: int) -> Module:
        if h.has_tensor(f"blk.{layer}.ffn_gate_inp.weight"):
            return experts(h, h.positive("feed_forward_length"), layer=layer)
        return gated_mlp(h, layer=layer)

    for key in ("expert_count", "expert_used_count"):  # which count for nothing where no layer has a router
        h.raw(key)
    return decoder(h, stack(h, mixer, feeds), rms_norm(h), ignored=EXPERT_SCALES)
