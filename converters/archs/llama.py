"""Llama and what is written as it (Mistral, SmolLM2, TinyLlama): rows of q and k pair neighbouring channels."""

from converters.archs.common import WINDOW_KEYS, attention, decoder, rope
from converters.archs.registry import architecture
from converters.hparams import Hparams
from converters.spec import ModelSpec


@architecture("llama", "Llama 1-3, Mistral, SmolLM2, TinyLlama")
def llama(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, interleaved rotary pairs, Llama 3.1 frequency factors."""
    h.ignore(*WINDOW_KEYS)
    mixer = attention(h, rope(h, interleaved=True, factors=True))
    return decoder(h, mixer=lambda _: mixer, activation="silu", genai_type="llama")
