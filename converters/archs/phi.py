"""Phi 2 (both blocks see one norm of the layer's input), Phi 3 (Llama's order, fused matrices, LongRoPE), PhiMoE."""

from collections.abc import Container
from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_norm, mlp, rms_norm
from converters.archs.experts import EXPERT_SCALES, experts
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import SHARED, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ContextFactors, ModelSpec


@architecture("phi2", "Phi 1, 1.5, 2", HuggingFace("phi", "PhiForCausalLM", partial=True))
def phi2(h: Hparams) -> ModelSpec:
    """Layer norms, GELU, partly rotated heads, biases everywhere, also on the head. Never tied."""
    mixer = attention(h, rope(h, head_dim(h), partial=True))
    layers = stack(h, mixer, mlp(h, "gelu_tanh"), SHARED, parallel=True)
    return decoder(h, layers, layer_norm(h), tied=False, genai_type="phi")


def hugging_face_phi3(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """The class knows scaled positions as lists of divisors only."""
    rotary = spec.attention.rope if spec.attention else None
    factors = rotary.factors if rotary else None
    original = factors.original_context if isinstance(factors, ContextFactors) else spec.context_length
    return HuggingFace(
        "phi3", "Phi3ForCausalLM", values={"original_max_position_embeddings": original}, scalings=(), partial=True
    )


@architecture("phi3", "Phi 3 mini and medium, 3.5 mini, 4, 4 mini", hugging_face_phi3)
def phi3(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms; attention is full though files name a window, which llama.cpp switches off."""
    mixer = attention(h, rope(h, head_dim(h), partial=True, long_factors=True))
    return decoder(h, stack(h, mixer, gated_mlp(h)), rms_norm(h), genai_type="phi3")


@architecture("phimoe", "Phi 3.5 MoE")
def phimoe(h: Hparams) -> ModelSpec:
    """Norms and the head have biases. As in llama.cpp, norms do not subtract the mean, and weights add up to one."""
    mixer = attention(h, rope(h, head_dim(h), long_factors=True))
    layers = stack(h, mixer, experts(h, h.positive("feed_forward_length"), normalize=True))
    norm = replace(rms_norm(h), biased=True)
    return decoder(h, layers, norm, tied=False, genai_type="phimoe", ignored=EXPERT_SCALES)
