"""Mellum: Qwen 3 MoE with local layers, whose positions are never stretched."""

from dataclasses import replace

from converters.archs.common import attention, decoder, head_dim, layer_count, local_layers, rms_norm
from converters.archs.experts import IMPLIED, expert_width, experts
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec

PERIOD = 4  # every fourth layer is global, unless the file says otherwise


@architecture("mellum", "Mellum with experts: 12B-A2.5B")
def mellum(h: Hparams) -> ModelSpec:
    """A token's weights add up to one."""
    h.ignore(*IMPLIED, "rope.freq_base_swa")
    window = h.integer("attention.sliding_window", 0)
    local = local_layers(h, PERIOD) if window > 0 else [False] * layer_count(h)
    distant = rope(h, head_dim(h))
    near = replace(distant, scaling=None, magnitude=1.0)

    def mixer(i: int) -> Attention:
        rotary, span = (near, window) if local[i] else (distant, None)
        return attention(h, rotary, window=span, qk_norm=HeadNorm())

    return decoder(h, stack(h, mixer, experts(h, expert_width(h), normalize=True)), rms_norm(h), tied=False)
