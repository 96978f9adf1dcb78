"""Gemma 1 and 2: GELU-gated, embeddings times sqrt(hidden), norms that hold 1 + w, always a tied head."""

from collections.abc import Callable, Container
from dataclasses import replace
from typing import Any

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_count, local_layers, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace, softcaps, windows
from converters.archs.layers import PRE_NORM, SANDWICH, NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, ModelSpec

PERIOD = 2  # every second layer is global, unless the file says otherwise
WINDOW, ATTENTION_SOFTCAP, FINAL_SOFTCAP = 4096, 50.0, 30.0  # of the published models, whose first files lack the keys
LAYERS_27B = 46  # the one size that scales attention by hidden / heads


@architecture("gemma", "Gemma 1, CodeGemma", HuggingFace("gemma", "GemmaForCausalLM", optimum=("kv_heads", "head_dim")))
def gemma(h: Hparams) -> ModelSpec:
    """Pre-norms, full attention; a head may be wider than hidden / heads."""
    h.ignore("attn_logit_softcapping", "final_logit_softcapping")
    return _gemma(h, attention(h, rope(h, head_dim(h), partial=True)), PRE_NORM)


def sandwich(spec: ModelSpec) -> dict[str, Any]:
    """What the classes of Gemma 2 and 3 have in common: the attention scale is 1 / sqrt(query_pre_attn_scalar)."""
    scale = spec.attention.scale if spec.attention else 1.0
    return {"query_pre_attn_scalar": round(scale**-2), **softcaps(spec), **windows(spec)}


def hugging_face2(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """Windows, softcaps, the attention scale."""
    return HuggingFace("gemma2", "Gemma2ForCausalLM", {"hidden_act": "hidden_activation"}, sandwich(spec))


@architecture("gemma2", "Gemma 2", hugging_face2)
def gemma2(h: Hparams) -> ModelSpec:
    """Sandwich norms, softcaps on attention and logits, local and global layers in turn."""
    global_rope = rope(h, head_dim(h), partial=True)
    local_rope = replace(global_rope, theta=h.number("rope.freq_base_swa", global_rope.theta))
    window, local = h.positive("attention.sliding_window", WINDOW), local_layers(h, PERIOD)
    softcap = h.number("attn_logit_softcapping", ATTENTION_SOFTCAP)
    dim = h.positive("embedding_length") // h.positive("attention.head_count")
    scale = (dim if layer_count(h) == LAYERS_27B else head_dim(h)) ** -0.5

    def mixer(i: int) -> Attention:
        rotary, span = (local_rope, window) if local[i] else (global_rope, None)
        return attention(h, rotary, window=span, softcap=softcap, scale=scale)

    return _gemma(h, mixer, SANDWICH, final_softcap=h.number("final_logit_softcapping", FINAL_SOFTCAP))


def _gemma(h: Hparams, mixer: Attention | Callable[[int], Attention], norms: NormNames, **choices: Any) -> ModelSpec:
    """What both have in common."""
    return decoder(
        h,
        stack(h, mixer, gated_mlp(h, "gelu_tanh"), norms),
        rms_norm(h),
        tied=True,
        genai_type=h.architecture,
        embedding_scale=h.positive("embedding_length") ** 0.5,
        wide_residual=True,
        **choices,
    )
