"""DBRX: layer norms without biases, q, k and v as one tensor and clipped."""

from converters.archs.common import attention, decoder, head_dim, layer_norm
from converters.archs.experts import EXPERT_SCALES, IMPLIED, experts
from converters.archs.hparams import Hparams
from converters.archs.layers import NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

NORMS = NormNames("attn_norm", mlp="attn_output_norm")


@architecture("dbrx", "DBRX")
def dbrx(h: Hparams) -> ModelSpec:
    """Split-half rotary pairs; a token's weights add up to one."""
    h.ignore(*IMPLIED, "expert_feed_forward_length")
    mixer = attention(h, rope(h, head_dim(h)), clip=max(0.0, h.number("attention.clamp_kqv")))
    mlp = experts(h, h.positive("feed_forward_length"), normalize=True)
    return decoder(h, stack(h, mixer, mlp, NORMS), layer_norm(h), tied=False, ignored=EXPERT_SCALES)
