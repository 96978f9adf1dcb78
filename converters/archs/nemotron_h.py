"""Nemotron H: layers of one block each, most of them state spaces and feed-forwards, and a few that attend."""

from collections.abc import Callable

from converters.archs.common import attention, decoder, layer_count, mlp
from converters.archs.experts import expert_width, experts
from converters.archs.hparams import Hparams
from converters.archs.nope import ROPE_KEYS
from converters.archs.recurrent import mamba2_mixer, without_heads
from converters.archs.registry import architecture
from converters.spec import SIGMOID, Block, Layer, Mlp, ModelSpec, Module, Norm

EPSILONS = ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon")  # the first that the file has counts


@architecture("nemotron_h", "Nemotron H, Nemotron Nano 2, dense")
def nemotron_h(h: Hparams) -> ModelSpec:
    """A layer with a width feeds forward, one without key/value heads scans, the others attend, without positions."""
    return _one_block_each(h, lambda layer: mlp(h, "relu_squared", layer=layer))


@architecture("nemotron_h_moe", "Nemotron 3 Nano, Nemotron 3 Super")
def nemotron_h_moe(h: Hparams) -> ModelSpec:
    """As Nemotron H, but with experts without a gate, beside one that all tokens take."""
    h.ignore("expert_shared_count")
    if h.integer("expert_count", 0) == 0:
        return _one_block_each(h, lambda layer: mlp(h, "relu_squared", layer=layer))
    mixture = experts(
        h,
        expert_width(h),
        "relu_squared",
        layer=next((i for i in range(layer_count(h)) if h.at("feed_forward_length", i)), 0),
        scores=SIGMOID,
        normalize=h.flag("expert_weights_norm", False),
        scale=h.number("expert_weights_scale", 0.0),
        shared=Mlp(h.positive("expert_shared_feed_forward_length"), "relu_squared", "none"),
        latent=h.integer("moe_latent_size", 0),
    )
    return _one_block_each(h, lambda layer: mixture)


def _one_block_each(h: Hparams, feeds: Callable[[int], Module]) -> ModelSpec:
    h.ignore(*ROPE_KEYS)
    scans, headless = mamba2_mixer(h), without_heads(h)

    def module(i: int) -> Module:
        if h.at("feed_forward_length", i):
            return feeds(i)
        return scans if headless[i] else attention(h, None, i)

    layers = tuple(Layer(i, (Block(module(i), "attn_norm"),)) for i in range(layer_count(h)))
    rms, other = (h.raw(key) is not None for key in EPSILONS)
    epsilon = h.number(EPSILONS[1] if other and not rms else EPSILONS[0])
    return decoder(h, layers, Norm("rms", epsilon), mlp_scales=True)
