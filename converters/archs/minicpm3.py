"""MiniCPM 3: multi-head latent attention, and MiniCPM's multipliers."""

from collections.abc import Container

from converters.archs.common import decoder, gated_mlp, head_dim, layer_count, rms_norm, value_dim
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import LatentAttention, ModelSpec
from repack.errors import MobiusError

# No keys: llama.cpp computes with the published model's numbers.
EMBEDDING_SCALE, DEPTH_SCALE, BASE_WIDTH = 12.0, 1.4, 256.0


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """Ranks, the parts of a head, and the multipliers; what the class calls head_dim follows from them."""
    mixer = spec.attention
    assert isinstance(mixer, LatentAttention)
    values = {
        "q_lora_rank": mixer.q_rank,
        "kv_lora_rank": mixer.kv_rank,
        "qk_nope_head_dim": mixer.nope_dim,
        "qk_rope_head_dim": mixer.shared_dim,
        "v_head_dim": mixer.value_dim,
        "scale_emb": EMBEDDING_SCALE,
        "scale_depth": DEPTH_SCALE,
        "dim_model_base": int(BASE_WIDTH),
    }
    return HuggingFace(
        "minicpm3", "MiniCPM3ForCausalLM", {"head_dim": None}, values, optimum=None, transformers_js=False
    )


@architecture("minicpm3", "MiniCPM 3", hugging_face)
def minicpm3(h: Hparams) -> ModelSpec:
    """Low-rank q and kv with norms in between; the last channels of a head turn, and one turned key serves all."""
    h.ignore("embedding_scale", "residual_scale", "logit_scale")
    dim, heads = head_dim(h), h.positive("attention.head_count")
    rotary = rope(h, dim, partial=True, long_factors=True)
    if rotary.dim == dim or h.positive("attention.head_count_kv", heads) != heads:
        raise MobiusError(
            f"{h.architecture} needs as many key/value heads as heads, and rope.dimension_count below the head's {dim}",
            "the metadata is damaged or unusual",
        )
    mixer = LatentAttention(
        heads=heads,
        nope_dim=dim - rotary.dim,
        value_dim=value_dim(h),
        q_rank=h.positive("attention.q_lora_rank"),
        kv_rank=h.positive("attention.kv_lora_rank"),
        rope=rotary,
        scale=dim**-0.5,
    )
    return decoder(
        h,
        stack(h, mixer, gated_mlp(h), scale=DEPTH_SCALE / layer_count(h) ** 0.5),
        rms_norm(h),
        embedding_scale=EMBEDDING_SCALE,
        logit_scale=BASE_WIDTH / h.positive("embedding_length"),
    )
