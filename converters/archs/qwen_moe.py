"""Qwen 2 and Qwen 3 with experts in the place of feed-forwards."""

from converters.archs.common import attention, decoder, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, expert_width, experts, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import HeadNorm, ModelSpec


@architecture("qwen2moe", "Qwen 1.5 MoE, Qwen 2 MoE")
def qwen2moe(h: Hparams) -> ModelSpec:
    """The weights of a token's experts do not add up to one; a gate opens the shared expert."""
    width = h.integer("expert_shared_feed_forward_length", 0) or h.positive("feed_forward_length")
    mlp = experts(h, expert_width(h), shared=shared_expert(width), shared_gate=True)
    return decoder(h, stack(h, attention(h, rope(h, head_dim(h))), mlp), rms_norm(h), ignored=EXPERT_SCALES)


@architecture("qwen3moe", "Qwen 3 MoE: 30B-A3B, 235B-A22B")
def qwen3moe(h: Hparams) -> ModelSpec:
    """The weights of a token's experts add up to one."""
    mixer = attention(h, rope(h, head_dim(h)), qk_norm=HeadNorm())
    return decoder(h, stack(h, mixer, experts(h, expert_width(h), normalize=True)), rms_norm(h))
