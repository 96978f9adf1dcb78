"""Qwen 3 Next and Qwen 3.5: most layers are gated delta nets, some are gated attention."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, expert_width, experts, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.layers import NormNames, stack
from converters.archs.recurrent import gated_delta_net, recurrent_layers
from converters.archs.registry import architecture
from converters.archs.rope import check_sections, rope
from converters.spec import HeadNorm, ModelSpec, Module

NORMS = NormNames("attn_norm", mlp="post_attention_norm")
# Second-level scales that llama.cpp loads for Qwen 3 Next and does not use.
UNUSED = (
    *("blk.*.attn_[qkv].scale", "blk.*.attn_qkv.scale", "blk.*.attn_gate.scale", "blk.*.ssm_*.scale"),
    *(*EXPERT_SCALES, *SHARED_SCALES),
)
INTERVAL = 4  # of layers that attend, where the file does not say


@architecture("qwen35", "Qwen 3.5, Qwen 3.6, dense")
def qwen35(h: Hparams) -> ModelSpec:
    """Value heads stand as the file's converter tiled them: head h reads key head h % key_heads."""
    return _mixed(h, gated_mlp(h), sections=True)


@architecture("qwen35moe", "Qwen 3.5, Qwen 3.6, MoE")
def qwen35moe(h: Hparams) -> ModelSpec:
    """As the dense models, but with experts, whose weights add up to one, and a shared one behind a gate."""
    return _mixed(h, _mixture(h), sections=True)


@architecture("qwen3next", "Qwen 3 Next, Qwen 3 Coder Next")
def qwen3next(h: Hparams) -> ModelSpec:
    """As the later mixtures, but value heads of a key head stand side by side, and positions have no sections."""
    return _mixed(h, _mixture(h), grouped=True, ignored=UNUSED)


def _mixture(h: Hparams) -> Module:
    shared = h.integer("expert_shared_feed_forward_length", 0) or h.positive("feed_forward_length")
    return experts(h, expert_width(h), normalize=True, shared=shared_expert(shared), shared_gate=True)


def _mixed(
    h: Hparams, mlp: Module, *, sections: bool = False, grouped: bool = False, ignored: tuple[str, ...] = ()
) -> ModelSpec:
    rotary = rope(h, head_dim(h), partial=True)
    if sections:
        check_sections(h, rotary.dim // 2)
    recurrent = recurrent_layers(h, INTERVAL)
    delta = gated_delta_net(h, grouped=grouped)

    def mixer(layer: int) -> Module:
        if recurrent[layer]:
            return delta
        return attention(h, rotary, layer, qk_norm=HeadNorm(), gated=True)

    return decoder(h, stack(h, mixer, mlp, NORMS), rms_norm(h), mlp_scales=True, ignored=ignored)
