"""Gemma 3: sandwich norms, q/k norms, five local layers to each global one."""

from collections.abc import Container
from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_count, local_layers, rms_norm
from converters.archs.gemma import sandwich
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import SANDWICH, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec
from repack.errors import MobiusError

PERIOD = 6  # every sixth layer is global, unless the file says otherwise
LOCAL_THETA = 10000.0  # rotary base of local layers, unless the file says otherwise
LAYERS_27B = 62  # the one size that scales attention by hidden / heads


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """As Gemma 2; local layers have a rotary base of their own."""
    names = {"hidden_act": "hidden_activation"}
    return HuggingFace(
        "gemma3_text",
        "Gemma3ForCausalLM",
        names,
        sandwich(spec),
        rope_by_layer_type=True,
        optimum=("kv_heads", "head_dim"),
    )


@architecture("gemma3", "Gemma 3, text", hugging_face)
def gemma3(h: Hparams) -> ModelSpec:
    """GELU-gated; embeddings times sqrt(hidden); norms hold 1 + w already."""
    hidden, window = h.positive("embedding_length"), h.integer("attention.sliding_window", 0)
    global_rope = rope(h, head_dim(h), partial=True)
    # Positions of local layers are never stretched.
    local_rope = replace(global_rope, theta=h.number("rope.freq_base_swa", LOCAL_THETA), scaling=None)
    if h.integer("rope.dimension_count_swa", global_rope.dim) != global_rope.dim:
        raise MobiusError("gemma3.rope.dimension_count_swa differs from rope.dimension_count", "not supported")
    local = local_layers(h, PERIOD) if window > 0 else [False] * layer_count(h)
    dim = hidden // h.positive("attention.head_count") if layer_count(h) == LAYERS_27B else head_dim(h)

    def mixer(i: int) -> Attention:
        rotary, span = (local_rope, window) if local[i] else (global_rope, None)
        return attention(h, rotary, window=span, qk_norm=HeadNorm(), scale=dim**-0.5)

    return decoder(
        h,
        stack(h, mixer, gated_mlp(h, "gelu_tanh"), SANDWICH),
        rms_norm(h),
        genai_type="gemma3_text",
        embedding_scale=hidden**0.5,
        final_softcap=h.number("final_logit_softcapping", 0.0),
        wide_residual=True,  # 104,000 seen in layer 14 of the 270M model
    )
