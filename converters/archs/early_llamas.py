"""Models of 2023 and 2024 after Llama whose heads are never tied: Baichuan, XVERSE, InternLM 2 and Orion."""

from converters.archs.common import attention, decoder, gated, head_dim, layer_norm, rms_norm, stack
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

# Baichuan's files do not say how positions enter: the number of layers does.
ROTARY_LAYERS = 32  # 7B
ALIBI_LAYERS = 40  # 13B
ALIBI_BIAS = 8.0


@architecture("baichuan", "Baichuan 1, Baichuan 2")
def baichuan(h: Hparams) -> ModelSpec:
    """Llama with rotary embedding at 7B and ALiBi at 13B; with no positions in other sizes."""
    rotary, count = rope(h, head_dim(h), interleaved=True), h.positive("block_count")
    mixer = attention(
        h,
        rotary if count == ROTARY_LAYERS else None,
        max_alibi_bias=ALIBI_BIAS if count == ALIBI_LAYERS else 0.0,
    )
    return decoder(h, stack(h, mixer, gated(h)), rms_norm(h), tied=False)


@architecture("xverse", "XVERSE, dense")
def xverse(h: Hparams) -> ModelSpec:
    """Llama, its head untied."""
    return _untied_llama(h)


@architecture("internlm2", "InternLM 2, InternLM 2.5")
def internlm2(h: Hparams) -> ModelSpec:
    """Llama, its head untied."""
    return _untied_llama(h, "internlm2")


def _untied_llama(h: Hparams, genai_type: str = "decoder") -> ModelSpec:
    mixer = attention(h, rope(h, head_dim(h), interleaved=True))
    return decoder(h, stack(h, mixer, gated(h)), rms_norm(h), tied=False, genai_type=genai_type)


@architecture("orion", "Orion")
def orion(h: Hparams) -> ModelSpec:
    """Llama with biased layer norms, split-half rotary pairs and an untied head."""
    mixer = attention(h, rope(h, head_dim(h)))
    return decoder(h, stack(h, mixer, gated(h)), layer_norm(h), tied=False)
