"""Ministral 3: Llama whose queries sharpen with the position."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec, QueryTemperature


@architecture("mistral3", "Ministral 3, dense")
def mistral3(h: Hparams) -> ModelSpec:
    """Queries sharpen by a step for each original context; YaRN is fine-tuned."""
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True, yarn_keys=True)
    scale = h.number("attention.temperature_scale", 0.0)
    floor = h.positive("rope.scaling.original_context_length", h.positive("context_length"))
    mixer = attention(h, rotary, temperature=QueryTemperature(scale, floor) if scale else None)
    layers = stack(h, mixer, gated_mlp(h))
    return decoder(h, layers, rms_norm(h), genai_type="mistral3_text", mlp_scales=True)
