"""Llama and what is written as it (Mistral, SmolLM2, TinyLlama): rows of q and k pair neighbouring channels."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture(
    "llama", "Llama 1-3, Mistral, SmolLM2, TinyLlama", HuggingFace("llama", "LlamaForCausalLM", optimum=("kv_heads",))
)
def llama(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, interleaved rotary pairs, Llama 3.1 frequency factors."""
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True)
    return decoder(h, stack(h, attention(h, rotary), gated_mlp(h)), rms_norm(h), genai_type="llama", mlp_scales=True)
