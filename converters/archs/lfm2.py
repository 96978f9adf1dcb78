"""LFM 2: most layers are short convolutions between two gates, some are attention."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.recurrent import kernel, without_heads
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import GatedShortConv, HeadNorm, ModelSpec, Module


@architecture("lfm2", "LFM 2, dense")
def lfm2(h: Hparams) -> ModelSpec:
    """A layer without key/value heads is a convolution; the last norm has the name of another model's first one."""
    rotary, recurrent = rope(h, head_dim(h)), without_heads(h)
    window = h.integer("attention.sliding_window", 0)
    conv = GatedShortConv(kernel(h, "shortconv.l_cache"))

    def mixer(layer: int) -> Module:
        if recurrent[layer]:
            return conv
        return attention(h, rotary, layer, qk_norm=HeadNorm(), window=window if window > 0 else None)

    layers = stack(h, mixer, gated_mlp(h))
    return decoder(h, layers, rms_norm(h), output_norm="token_embd_norm")
