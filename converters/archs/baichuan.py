"""Baichuan 1 and 2: how positions enter is told by the number of layers."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

ROTARY_LAYERS = 32  # 7B
ALIBI_LAYERS = 40  # 13B
ALIBI_BIAS = 8.0


@architecture("baichuan", "Baichuan 1, Baichuan 2")
def baichuan(h: Hparams) -> ModelSpec:
    """Llama with rotary embedding at 7B and ALiBi at 13B; with no positions in other sizes. Never tied."""
    rotary, count = rope(h, head_dim(h), interleaved=True), h.positive("block_count")
    mixer = attention(
        h,
        rotary if count == ROTARY_LAYERS else None,
        max_alibi_bias=ALIBI_BIAS if count == ALIBI_LAYERS else 0.0,
    )
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), tied=False)
