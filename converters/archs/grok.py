"""Grok: GELU experts, and in Grok 2 a dense feed-forward beside them; capped scores, norms on all sides."""

from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, mlp, rms_norm
from converters.archs.experts import EXPERT_SCALES, IMPLIED, experts
from converters.archs.hparams import Hparams
from converters.archs.layers import NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Mlp, ModelSpec, Rope, YarnScaling
from repack.errors import MobiusError

# Of Grok 1, whose files have no keys for these.
EMBEDDING_SCALE, LOGIT_SCALE, SCORE_SCALE, SOFTCAP, BETA_FAST = 6144**0.5, 3**-0.5, 128**-0.5, 30.0, 8.0


@architecture("grok", "Grok 1, Grok 2")
def grok(h: Hparams) -> ModelSpec:
    """Scores times a key's factor are capped; a token's weights add up to one."""
    # llama.cpp reads the last two and does nothing with them
    h.ignore(*IMPLIED, "router_logit_softcapping", "attention.temperature_length")
    cap = h.number("attn_logit_softcapping", SOFTCAP)
    if cap <= 0:
        raise MobiusError(f"grok.attn_logit_softcapping is {cap:g}", "llama.cpp divides by it; the metadata is damaged")
    mixer = attention(h, _rope(h), scale=h.number("attention.output_scale", SCORE_SCALE), softcap=cap)
    whole, dense = h.positive("feed_forward_length"), _dense(h)
    width = h.integer("expert_feed_forward_length", 0) or whole
    mixture = experts(
        h,
        width,
        "gelu_tanh",
        normalize=True,
        shared=dense,
        shared_suffix="",
        sum_scale=1.0 if dense is None else 2**-0.5,
    )
    closing = "layer_output_norm" if h.has_tensor("blk.0.layer_output_norm.weight") else "post_ffw_norm"
    return decoder(
        h,
        stack(h, mixer, mixture, NormNames("attn_norm", "attn_output_norm", "ffn_norm", closing)),
        rms_norm(h),
        embedding_scale=h.number("embedding_scale", EMBEDDING_SCALE) or 1.0,
        logit_scale=h.number("logit_scale", LOGIT_SCALE),
        final_softcap=h.number("final_logit_softcapping", 0.0),
        ignored=EXPERT_SCALES,
    )


def _dense(h: Hparams) -> Mlp | None:
    """The feed-forward that all tokens take; its tensors are those of a model without experts."""
    if not h.has_tensor("blk.0.ffn_up.weight"):
        return None
    return gated_mlp(h, "gelu_tanh") if h.has_tensor("blk.0.ffn_gate.weight") else mlp(h, "gelu_tanh")


def _rope(h: Hparams) -> Rope:
    """Split-half pairs; YaRN with another default, and an extrapolation factor that must be all or nothing."""
    plain = rope(h, head_dim(h))
    stretched = isinstance(plain.scaling, YarnScaling)
    share = h.number("rope.scaling.yarn_ext_factor", -1.0)
    if share >= 0 and share != stretched:
        raise MobiusError(
            f"grok.rope.scaling.yarn_ext_factor is {share:g} for rope.scaling.type "
            f"{h.text('rope.scaling.type', 'linear')}",
            "supported: 1 for yarn, 0 for others",
        )
    factor = h.number("rope.scaling.yarn_attn_factor", 1.0)
    fast, slow = h.number("rope.scaling.yarn_beta_fast", BETA_FAST), h.number("rope.scaling.yarn_beta_slow", 1.0)
    if isinstance(plain.scaling, YarnScaling):  # whose magnitude takes the place of the factor
        return replace(plain, scaling=replace(plain.scaling, beta_fast=fast, beta_slow=slow))
    return replace(plain, magnitude=plain.magnitude * factor)
