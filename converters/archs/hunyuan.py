"""Hunyuan, dense or with experts: as Llama, with an RMS norm on each head of q and k after the rotation."""

from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, IMPLIED, SHARED_SCALES, experts, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec, Rope
from repack.errors import MobiusError


@architecture("hunyuan-dense", "Hunyuan 0.5B to 7B", HuggingFace("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM"))
def hunyuan(h: Hparams) -> ModelSpec:
    """Split-half rotary pairs, whose base rope.scaling.alpha may stretch."""
    h.ignore("rope.dimension_sections")
    if h.integer("expert_count", 0) > 1:
        raise MobiusError(f"{h.architecture}.expert_count is above 1", "mixtures of experts are not supported")
    h.ignore("expert_used_count")
    rotary, alpha = rope(h, head_dim(h)), h.number("rope.scaling.alpha", 0.0)
    if alpha > 0 and rotary.dim > 2:  # a single pair has frequency 1 whatever the base
        rotary = replace(rotary, theta=rotary.theta * alpha ** (rotary.dim / (rotary.dim - 2)))
    return late_normed(h, rotary, genai_type="hunyuandensev1")


@architecture("hunyuan-moe", "Hunyuan A13B")
def hunyuan_moe(h: Hparams) -> ModelSpec:
    """Experts are as wide as feed_forward_length says, and so is the shared one by default; weights add up to one."""
    h.ignore(*IMPLIED, "rope.scaling.alpha")
    h.positive("expert_feed_forward_length")  # must be there, and is not used
    width = h.positive("feed_forward_length")
    shared = shared_expert(h.integer("expert_shared_feed_forward_length", 0) or width)
    mlp = experts(h, width, normalize=True, shared=shared)
    layers = stack(h, _late_normed(h, rope(h, head_dim(h))), mlp)
    return decoder(h, layers, rms_norm(h), ignored=EXPERT_SCALES + SHARED_SCALES)


def late_normed(h: Hparams, rotary: Rope, genai_type: str = "decoder") -> ModelSpec:
    """A Llama whose heads of q and k are normed after the rotation."""
    return decoder(h, stack(h, _late_normed(h, rotary), gated_mlp(h)), rms_norm(h), genai_type=genai_type)


def _late_normed(h: Hparams, rotary: Rope) -> Attention:
    return attention(h, rotary, qk_norm=HeadNorm(after_rope=True))
