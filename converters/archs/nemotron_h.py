"""Nemotron H: layers of one block each, most of them state spaces and feed-forwards, and a few that attend."""

from converters.archs.common import attention, decoder, layer_count, mlp
from converters.archs.hparams import Hparams
from converters.archs.nope import ROPE_KEYS
from converters.archs.recurrent import mamba2_mixer, without_heads
from converters.archs.registry import architecture
from converters.spec import Block, Layer, ModelSpec, Module, Norm

EPSILONS = ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon")  # the first that the file has counts


@architecture("nemotron_h", "Nemotron H, Nemotron Nano 2, dense")
def nemotron_h(h: Hparams) -> ModelSpec:
    """A layer with a width feeds forward, one without key/value heads scans, the others attend, without positions."""
    h.ignore(*ROPE_KEYS)
    scans, headless = mamba2_mixer(h), without_heads(h)

    def module(i: int) -> Module:
        if h.at("feed_forward_length", i):
            return mlp(h, "relu_squared", layer=i)
        return scans if headless[i] else attention(h, None, i)

    layers = tuple(Layer(i, (Block(module(i), "attn_norm"),)) for i in range(layer_count(h)))
    rms, other = (h.raw(key) is not None for key in EPSILONS)
    epsilon = h.number(EPSILONS[1] if other and not rms else EPSILONS[0])
    return decoder(h, layers, Norm("rms", epsilon), mlp_scales=True)
