"""Seed-OSS: the norm before the feed-forward has the name of one behind attention."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

HF = HuggingFace("seed_oss", "SeedOssForCausalLM", values={"attention_out_bias": False}, transformers_js=False)


@architecture("seed_oss", "Seed-OSS", HF)
def seed_oss(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, split-half rotary pairs, biased q, k and v."""
    layers = stack(h, attention(h, rope(h, head_dim(h))), gated_mlp(h), NormNames(mlp="post_attention_norm"))
    return decoder(h, layers, rms_norm(h))
