"""Llama's near kin: Ministral 3, Arcee, SmolLM 3 and ERNIE 4.5, each with one thing of its own."""

from converters.archs.common import WINDOW_KEYS, attention, decoder, gated, head_dim, plain, rms_norm, stack
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, ModelSpec, QueryTemperature

UNREAD = (*WINDOW_KEYS, "attention.scale")  # all of them attend to everything, at 1 / sqrt(head_dim)
NOPE_STEP = 4  # every fourth layer of SmolLM 3 is without positions: files have no key for it


@architecture("mistral3", "Ministral 3, dense")
def mistral3(h: Hparams) -> ModelSpec:
    """Llama whose queries sharpen with the position, by a step for each original context; YaRN is fine-tuned."""
    h.ignore(*UNREAD)
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True, yarn_keys=True)
    scale = h.number("attention.temperature_scale", 0.0)
    floor = h.positive("rope.scaling.original_context_length", h.positive("context_length"))
    mixer = attention(h, rotary, temperature=QueryTemperature(scale, floor) if scale else None)
    layers = stack(h, mixer, gated(h))
    return decoder(h, layers, rms_norm(h), genai_type="mistral3_text", feed_forward_scales=True)


@architecture("arcee", "Arcee AFM")
def arcee(h: Hparams) -> ModelSpec:
    """Llama with a feed-forward of squared ReLU, without a gate."""
    h.ignore(*UNREAD)
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True)
    return decoder(h, stack(h, attention(h, rotary), plain(h, "relu_squared")), rms_norm(h))


@architecture("smollm3", "SmolLM 3")
def smollm3(h: Hparams) -> ModelSpec:
    """Llama with every fourth layer NoPE."""
    h.ignore(*UNREAD)
    rotary = rope(h, head_dim(h), interleaved=True)

    def mixer(i: int) -> Attention:
        return attention(h, rotary if (i + 1) % NOPE_STEP else None)

    return decoder(h, stack(h, mixer, gated(h)), rms_norm(h), genai_type="smollm3")


@architecture("ernie4_5", "ERNIE 4.5, dense")
def ernie4_5(h: Hparams) -> ModelSpec:
    """Llama; the sections of multimodal positions are all the same for text."""
    h.ignore(*UNREAD, "rope.dimension_sections")
    rotary = rope(h, head_dim(h), interleaved=True)
    layers = stack(h, attention(h, rotary), gated(h))
    return decoder(h, layers, rms_norm(h), genai_type="ernie4_5", ignored=("blk.*.attn_output.bias",))
