"""Nemotron H: layers of one block each, most of them state spaces and feed-forwards, and a few that attend."""

from converters.archs.common import attention, decoder, layer_count, mlp
from converters.archs.experts import expert_width, experts
from converters.archs.hparams import Hparams
from converters.archs.nope import ROPE_KEYS
from converters.archs.recurrent import mamba2_mixer, without_heads
from converters.archs.registry import architecture
from converters.spec import SIGMOID, Block, Experts, Layer, Mlp, ModelSpec, Module, Norm

EPSILONS = ("attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon")  # the first that the file has counts


@architecture("nemotron_h_moe", "Nemotron 3 Nano, Nemotron 3 Super")
@architecture("nemotron_h", "Nemotron H, Nemotron Nano 2")
def nemotron_h(h: Hparams) -> ModelSpec:
    """A layer with a width feeds forward, one without key/value heads scans, the others attend, without positions."""
    h.ignore(*ROPE_KEYS)
    scans, headless, mixture = mamba2_mixer(h), without_heads(h), _mixture(h)

    def module(i: int) -> Module:
        if h.at("feed_forward_length", i):
            return mixture or mlp(h, "relu_squared", layer=i)
        return scans if headless[i] else attention(h, None, i)

    layers = tuple(Layer(i, (Block(module(i), "attn_norm"),)) for i in range(layer_count(h)))
    rms, other = (h.raw(key) is not None for key in EPSILONS)
    epsilon = h.number(EPSILONS[1] if other and not rms else EPSILONS[0])
    return decoder(h, layers, Norm("rms", epsilon), mlp_scales=True)


def _mixture(h: Hparams) -> Experts | None:
    """Experts without a gate, beside one that all tokens take; None where the file has none."""
    if h.integer("expert_count", 0) == 0:
        return None
    h.ignore("expert_shared_count")
    return experts(
        h,
        expert_width(h),
        "relu_squared",
        scores=SIGMOID,
        normalize=h.flag("expert_weights_norm", False),
        scale=h.number("expert_weights_scale", 0.0),
        shared=Mlp(h.positive("expert_shared_feed_forward_length"), "relu_squared", "none"),
        latent=h.integer("moe_latent_size", 0),
    )
