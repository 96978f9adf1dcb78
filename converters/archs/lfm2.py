"""LFM 2: most layers are short convolutions between two gates, some are attention."""

from collections.abc import Callable

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, dense_layers, experts, scores
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.recurrent import kernel, without_heads
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import GatedShortConv, HeadNorm, ModelSpec, Module


@architecture("lfm2", "LFM 2, dense")
def lfm2(h: Hparams) -> ModelSpec:
    """A layer without key/value heads is a convolution; the last norm has the name of another model's first one."""
    window = h.integer("attention.sliding_window", 0)
    return _lfm2(h, gated_mlp(h), window)


@architecture("lfm2moe", "LFM 2 MoE")
def lfm2moe(h: Hparams) -> ModelSpec:
    """Experts behind the first layers, whose weights add up to one; all earlier tokens are seen."""
    dense = dense_layers(h)

    def feeds(layer: int) -> Module:
        if layer < dense:
            return gated_mlp(h)
        return experts(h, h.positive("expert_feed_forward_length"), layer=layer, scores=scores(h), normalize=True)

    h.raw("feed_forward_length")  # of the dense layers, and there may be none
    return _lfm2(h, feeds, 0)


def _lfm2(h: Hparams, feeds: Module | Callable[[int], Module], window: int) -> ModelSpec:
    rotary, recurrent = rope(h, head_dim(h)), without_heads(h)
    conv = GatedShortConv(kernel(h, "shortconv.l_cache"))

    def mixer(layer: int) -> Module:
        if recurrent[layer]:
            return conv
        return attention(h, rotary, layer, qk_norm=HeadNorm(), window=window if window > 0 else None)

    layers = stack(h, mixer, feeds)
    return decoder(h, layers, rms_norm(h), output_norm="token_embd_norm", ignored=EXPERT_SCALES)
