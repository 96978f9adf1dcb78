"""GroveMoE: Qwen 3 MoE whose experts share narrower ones."""

from dataclasses import replace

from converters.archs.common import attention, decoder, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, IMPLIED, expert_width, experts
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import GroveExperts, HeadNorm, ModelSpec
from repack.errors import MobiusError


@architecture("grovemoe", "GroveMoE")
def grovemoe(h: Hparams) -> ModelSpec:
    """The weights of a token's experts add up to one, and so do those of its narrower ones."""
    h.ignore(*IMPLIED)
    wide, group = experts(h, expert_width(h), normalize=True), h.positive("experts_per_group")
    count, width = wide.count // group, h.integer("expert_chunk_feed_forward_length", 0) or head_dim(h)
    if wide.count % group or count < wide.used:
        raise MobiusError(
            f"{wide.used} of {wide.count} experts in groups of {group} cannot share what groups have",
            "llama.cpp wants at least as many groups as experts that a token takes; the metadata is damaged",
        )
    shared = replace(wide, count=count, width=width, suffix="_chexps")
    mlp = GroveExperts(wide, shared, group, h.number("expert_group_scale"))
    mixer = attention(h, rope(h, head_dim(h)), qk_norm=HeadNorm())
    return decoder(h, stack(h, mixer, mlp), rms_norm(h), ignored=EXPERT_SCALES)
