"""MiniMax M2: experts by biased scores, q and k normed over all heads together."""

from converters.archs.common import attention, decoder, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, IMPLIED, experts, scores
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import HeadNorm, ModelSpec


@architecture("minimax-m2", "MiniMax M2")
def minimax_m2(h: Hparams) -> ModelSpec:
    """Experts are as wide as feed_forward_length says; a token's weights add up to one."""
    h.ignore(*IMPLIED)
    h.positive("expert_feed_forward_length")  # must be there, and is not used
    rotary = rope(h, head_dim(h), partial=True)
    mixer = attention(h, rotary, qk_norm=HeadNorm("width"))
    mlp = experts(h, h.positive("feed_forward_length"), scores=scores(h), normalize=True)
    return decoder(h, stack(h, mixer, mlp), rms_norm(h), tied=False, ignored=EXPERT_SCALES)
