"""StableLM: layer norms around SiLU-gated blocks, partly rotated heads."""

from collections.abc import Container

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_norm
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import PRE_NORM, SHARED, NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import LAYER_INPUT, Attention, HeadNorm, ModelSpec


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """Biases of q, k and v, norms of q and k, and whether blocks stand side by side."""
    normed = isinstance(spec.attention, Attention) and spec.attention.qk_norm is not None
    parallel = spec.layers[0].blocks[1].reads == LAYER_INPUT
    values = {"qk_layernorm": normed, "use_parallel_residual": parallel}
    names = {"attention_bias": "use_qkv_bias", "mlp_bias": None}
    return HuggingFace("stablelm", "StableLmForCausalLM", names, values, partial=True, optimum=("kv_heads",))


@architecture("stablelm", "StableLM, StableLM 2, Stable Code", hugging_face)
def stablelm(h: Hparams) -> ModelSpec:
    """Without ffn_norm (12B) both blocks see one norm of the layer's input, whatever a key says. Never tied."""
    h.ignore("use_parallel_residual")
    rotary = rope(h, head_dim(h), partial=True)

    def mixer(i: int) -> Attention:
        each = HeadNorm("each") if h.has_tensor(f"blk.{i}.attn_q_norm.weight") else None
        return attention(h, rotary, qk_norm=each)

    def parallel(i: int) -> bool:
        return not h.has_tensor(f"blk.{i}.ffn_norm.weight")

    def norms(i: int) -> NormNames:
        return SHARED if parallel(i) else PRE_NORM

    return decoder(h, stack(h, mixer, gated_mlp(h), norms, parallel=parallel), layer_norm(h), tied=False)
