"""Llama and what is written as it (Mistral, SmolLM2, TinyLlama): rows of q and k pair neighbouring channels."""

from converters.archs.common import WINDOW_KEYS, attention, decoder, gated, head_dim, rms_norm, stack
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("llama", "Llama 1-3, Mistral, SmolLM2, TinyLlama")
def llama(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, interleaved rotary pairs, Llama 3.1 frequency factors."""
    h.ignore(*WINDOW_KEYS, "attention.scale")
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True)
    return decoder(
        h, stack(h, attention(h, rotary), gated(h)), rms_norm(h), genai_type="llama", feed_forward_scales=True
    )
