"""Ministral 3: Llama whose queries sharpen with the position."""

from collections.abc import Container

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, ModelSpec, QueryTemperature


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """How queries sharpen stands beside the rotary embedding."""
    mixer = spec.attention
    sharpened = mixer.temperature if isinstance(mixer, Attention) else None
    values = {
        "llama_4_scaling_beta": sharpened.scale if sharpened else 0.0,
        "original_max_position_embeddings": sharpened.floor if sharpened else spec.context_length,
    }
    return HuggingFace("ministral3", "Ministral3ForCausalLM", rope_values=values, optimum=None)


@architecture("mistral3", "Ministral 3, dense", hugging_face)
def mistral3(h: Hparams) -> ModelSpec:
    """Queries sharpen by a step for each original context; YaRN is fine-tuned."""
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True, yarn_keys=True)
    scale = h.number("attention.temperature_scale", 0.0)
    floor = h.positive("rope.scaling.original_context_length", h.positive("context_length"))
    mixer = attention(h, rotary, temperature=QueryTemperature(scale, floor) if scale else None)
    layers = stack(h, mixer, gated_mlp(h))
    return decoder(h, layers, rms_norm(h), genai_type="mistral3_text", mlp_scales=True)
