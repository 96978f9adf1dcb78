"""Qwen 2 (biased q, k, v) and Qwen 3 (normed q, k)."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import HeadNorm, ModelSpec


@architecture("qwen2", "Qwen 2, Qwen 2.5", HuggingFace("qwen2", "Qwen2ForCausalLM", optimum=("kv_heads",)))
def qwen2(h: Hparams) -> ModelSpec:
    """As Llama, with split-half rotary pairs and biases where the file has them."""
    mixer = attention(h, rope(h, head_dim(h)))
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), genai_type="qwen2")


@architecture("qwen3", "Qwen 3, dense", HuggingFace("qwen3", "Qwen3ForCausalLM", optimum=("kv_heads",)))
def qwen3(h: Hparams) -> ModelSpec:
    """As Qwen 2, with an RMS norm on each head of q and k."""
    mixer = attention(h, rope(h, head_dim(h)), qk_norm=HeadNorm())
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), genai_type="qwen3", mlp_scales=True)
