"""OLMo 1 (layer norms without weights) and OLMo 2 and 3 (norms behind the blocks only)."""

from dataclasses import replace

from converters.archs.common import (
    AFTER_ONLY,
    WINDOW_KEYS,
    attention,
    blocks,
    decoder,
    gated,
    head_dim,
    layer_norm,
    local_layers,
    rms_norm,
    stack,
)
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec

PERIOD = 4  # every fourth layer is global, unless the file says otherwise


@architecture("olmo", "OLMo 1")
def olmo(h: Hparams) -> ModelSpec:
    """No norm has weights; q, k and v may be clipped; interleaved rotary pairs."""
    h.ignore(*WINDOW_KEYS, "attention.scale")
    clip = max(0.0, h.number("attention.clamp_kqv", 0.0))
    mixer = attention(h, rope(h, head_dim(h), interleaved=True), clip=clip)
    return decoder(h, stack(h, mixer, gated(h)), replace(layer_norm(h), weights=False), genai_type="olmo")


@architecture("olmo2", "OLMo 2, OLMo 3")
def olmo2(h: Hparams) -> ModelSpec:
    """q and k are normed over all heads together; local layers' positions are never stretched."""
    h.ignore(*WINDOW_KEYS, "attention.scale", "rope.freq_base_swa")
    everywhere, window = rope(h, head_dim(h)), h.integer("attention.sliding_window", 0)
    nearby = replace(everywhere, scaling=None, magnitude=1.0)
    local = local_layers(h, PERIOD) if window > 0 else [False] * blocks(h)

    def mixer(i: int) -> Attention:
        rotary, reach = (nearby, window) if local[i] else (everywhere, None)
        return attention(h, rotary, window=reach, qk_norm=HeadNorm("width"))

    return decoder(h, stack(h, mixer, gated(h), AFTER_ONLY), rms_norm(h), tied=False)
