"""Arcee AFM: Llama with another feed-forward."""

from converters.archs.common import attention, decoder, head_dim, mlp, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("arcee", "Arcee AFM", HuggingFace("arcee", "ArceeForCausalLM", optimum=("kv_heads",)))
def arcee(h: Hparams) -> ModelSpec:
    """Squared ReLU, without a gate."""
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True)
    return decoder(h, stack(h, attention(h, rotary), mlp(h, "relu_squared")), rms_norm(h))
