"""InternLM 2: Llama whose head is never tied."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("internlm2", "InternLM 2, InternLM 2.5")
def internlm2(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, interleaved rotary pairs."""
    mixer = attention(h, rope(h, head_dim(h), interleaved=True))
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), tied=False, genai_type="internlm2")
