"""BitNet b1.58: as Llama, with a norm before each block's output product."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("bitnet", "BitNet b1.58", HuggingFace("bitnet", "BitNetForCausalLM", transformers_js=False))
def bitnet(h: Hparams) -> ModelSpec:
    """SiLU-gated, split-half rotary pairs, always a tied head; products are scaled where the file has scales."""
    mixer = attention(h, rope(h, head_dim(h), partial=True), sub_norm=True)
    return decoder(h, stack(h, mixer, gated_mlp(h, sub_norm=True)), rms_norm(h), tied=True, mlp_scales=True)
