"""The first Qwen, before 1.5: q, k and v are one biased tensor."""

from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("qwen", "Qwen 1 (not 1.5)")
def qwen(h: Hparams) -> ModelSpec:
    """SiLU-gated, split-half rotary pairs; feed_forward_length counts gate and up together."""
    mixer, both = attention(h, rope(h, head_dim(h), partial=True)), gated_mlp(h)
    return decoder(h, stack(h, mixer, replace(both, width=both.width // 2)), rms_norm(h), tied=False)
