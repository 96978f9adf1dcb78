"""ChatGLM, GLM-4 and GLM-4.5: partial rotary embedding; gate and up in one tensor, or mixtures."""

from collections.abc import Container

import numpy as np

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.dense_first import dense_first
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, scores
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import PRE_NORM, SANDWICH, NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import SIGMOID, HeadNorm, ModelSpec
from repack.errors import MobiusError


@architecture(
    "chatglm",
    "ChatGLM 3, GLM-4-9B, GLM-Edge",
    HuggingFace("glm", "GlmForCausalLM", partial=True, optimum=("kv_heads",)),
)
def chatglm(h: Hparams) -> ModelSpec:
    """Pre-norms, interleaved rotary pairs."""
    return _glm(h, PRE_NORM, interleaved=True, genai_type="chatglm")


def hugging_face4(spec: ModelSpec, tensors: Container[str]) -> HuggingFace | None:
    """The class turns neighbouring channels: that of images' text models is not there."""
    turned = spec.attention.rope if spec.attention else None
    return (
        HuggingFace("glm4", "Glm4ForCausalLM", partial=True, transformers_js=False)
        if turned and turned.interleaved
        else None
    )


@architecture("glm4", "GLM-4-0414, GLM-Z1, GLM-OCR text", hugging_face4)
def glm4(h: Hparams) -> ModelSpec:
    """Sandwich norms; rotary pairs are interleaved unless the file divides them in sections, for images."""
    return _glm(h, SANDWICH, interleaved=not _sectioned(h))


@architecture("glm4moe", "GLM-4.5, GLM-4.6, GLM-4.7, Air, GLM-4.5V text")
def glm4moe(h: Hparams) -> ModelSpec:
    """Mixtures with shared experts; q/k norms where the file has them; sections for images change nothing for text."""
    _sectioned(h)
    norm = HeadNorm() if h.has_tensor("blk.0.attn_q_norm.weight") else None
    mixer = attention(h, rope(h, head_dim(h), partial=True), qk_norm=norm)
    mlp = dense_first(h, scores=scores(h, SIGMOID), normalize=h.flag("expert_weights_norm", False))
    layers = stack(h, mixer, mlp, NormNames(mlp="post_attention_norm"))
    return decoder(h, layers, rms_norm(h), ignored=(*EXPERT_SCALES, *SHARED_SCALES))


def _sectioned(h: Hparams) -> bool:
    """Whether rotary pairs belong to sections: time, height and width, which are one and the same for text."""
    given = h.raw("rope.dimension_sections")
    sections = np.resize(0 if given is None else given, 4)
    if sections.dtype.kind not in "iu":
        raise MobiusError(f"{h.architecture}.rope.dimension_sections is {given!r}", "the metadata is damaged")
    used = bool((sections[:2] > 0).all())
    if used and sections[3] != 0:
        raise MobiusError(f"{h.architecture}.rope.dimension_sections has a fourth section", "not supported")
    return used


def _glm(h: Hparams, norms: NormNames, *, interleaved: bool, genai_type: str = "decoder") -> ModelSpec:
    mixer = attention(h, rope(h, head_dim(h), interleaved=interleaved, partial=True))
    return decoder(h, stack(h, mixer, gated_mlp(h), norms), rms_norm(h), genai_type=genai_type)
