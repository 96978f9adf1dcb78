"""Llama and what is written as it (Mistral, SmolLM2, TinyLlama): rows of q and k pair neighbouring channels."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.experts import experts, has_experts
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
    """SiLU-gated, RMS norms, interleaved rotary pairs, Llama 3.1 frequency factors; dense, or experts (Mixtral)."""
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True)
    mixture = has_experts(h)
    mlp = experts(h, h.positive("feed_forward_length"), normalize=True) if mixture else gated_mlp(h)
    layers = stack(h, attention(h, rotary), mlp)
    return decoder(h, layers, rms_norm(h), genai_type="decoder" if mixture else "llama", mlp_scales=True)
