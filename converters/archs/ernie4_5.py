"""ERNIE 4.5: Llama."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

HF = HuggingFace("ernie4_5", "Ernie4_5ForCausalLM", {"attention_bias": "use_bias", "mlp_bias": None})


@architecture("ernie4_5", "ERNIE 4.5, dense", HF)
def ernie4_5(h: Hparams) -> ModelSpec:
    """The sections of multimodal positions are all the same for text."""
    h.ignore("rope.dimension_sections")
    rotary = rope(h, head_dim(h), interleaved=True)
    layers = stack(h, attention(h, rotary), gated_mlp(h))
    return decoder(h, layers, rms_norm(h), genai_type="ernie4_5", ignored=("blk.*.attn_output.bias",))
