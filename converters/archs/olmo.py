"""OLMo 1 (layer norms without weights), OLMo 2 and 3 (norms behind the blocks only), and OLMoE."""

from collections.abc import Container
from dataclasses import replace

from converters.archs.common import (
    attention,
    decoder,
    gated_mlp,
    head_dim,
    layer_count,
    layer_norm,
    local_layers,
    rms_norm,
)
from converters.archs.experts import EXPERT_SCALES, experts
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace, windows
from converters.archs.layers import POST_NORM, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec

PERIOD = 4  # every fourth layer is global, unless the file says otherwise


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """With the bound of q, k and v."""
    clip = spec.attention.clip if isinstance(spec.attention, Attention) else 0.0
    return HuggingFace("olmo", "OlmoForCausalLM", values={"clip_qkv": clip or None}, scalings=())


def hugging_face2(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """OLMo 3 is the one with windows."""
    seen = windows(spec)
    if seen["sliding_window"] is None:
        return HuggingFace("olmo2", "Olmo2ForCausalLM", scalings=())
    return HuggingFace("olmo3", "Olmo3ForCausalLM", values=seen, rope_by_layer_type=True)


@architecture("olmo", "OLMo 1", hugging_face)
def olmo(h: Hparams) -> ModelSpec:
    """No norm has weights; q, k and v may be clipped; interleaved rotary pairs."""
    clip = max(0.0, h.number("attention.clamp_kqv", 0.0))
    mixer = attention(h, rope(h, head_dim(h), interleaved=True), clip=clip)
    return decoder(h, stack(h, mixer, gated_mlp(h)), replace(layer_norm(h), weights=False), genai_type="olmo")


@architecture("olmo2", "OLMo 2, OLMo 3", hugging_face2)
def olmo2(h: Hparams) -> ModelSpec:
    """q and k are normed over all heads together; local layers' positions are never stretched."""
    h.ignore("rope.freq_base_swa")
    global_rope, window = rope(h, head_dim(h)), h.integer("attention.sliding_window", 0)
    local_rope = replace(global_rope, scaling=None, magnitude=1.0)
    local = local_layers(h, PERIOD) if window > 0 else [False] * layer_count(h)

    def mixer(i: int) -> Attention:
        rotary, span = (local_rope, window) if local[i] else (global_rope, None)
        return attention(h, rotary, window=span, qk_norm=HeadNorm("width"))

    return decoder(h, stack(h, mixer, gated_mlp(h), POST_NORM), rms_norm(h), tied=False)


@architecture("olmoe", "OLMoE")
def olmoe(h: Hparams) -> ModelSpec:
    """Norms before the blocks, q and k normed as in OLMo 2; the weights of a token's experts do not add up to one."""
    mixer = attention(h, rope(h, head_dim(h)), qk_norm=HeadNorm("width"))
    layers = stack(h, mixer, experts(h, h.positive("feed_forward_length")))
    return decoder(h, layers, rms_norm(h), tied=False, ignored=EXPERT_SCALES)
