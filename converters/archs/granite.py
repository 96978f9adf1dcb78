"""Granite: as Llama, with multipliers of embeddings, of what each block adds, and of logits."""

from collections.abc import Callable, Container

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, experts, shared_expert
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace
from converters.archs.layers import stack
from converters.archs.recurrent import mamba2_mixer, without_heads
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec, Module
from repack.errors import MobiusError

# Keys that converters write for models whose family has state-space layers, experts or images.
FOREIGN_KEYS = (
    *(f"ssm.{name}" for name in ("conv_kernel", "state_size", "group_count", "inner_size", "time_step_rank")),
    "expert_shared_feed_forward_length",
    "deepstack_mapping",
)


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace | None:
    """All multipliers; the class has no models without positions."""
    mixer = spec.attention
    if mixer is None or mixer.rope is None:
        return None
    values = {
        "embedding_multiplier": spec.embedding_scale,
        "residual_multiplier": spec.layers[0].blocks[0].scale,
        "attention_multiplier": mixer.scale,
        "logits_scaling": 1 / spec.logit_scale,
    }
    return HuggingFace("granite", "GraniteForCausalLM", values=values, optimum=("kv_heads",))


@architecture("granite", "Granite 3, Granite 4 dense", hugging_face)
def granite(h: Hparams) -> ModelSpec:
    """All multipliers from the file, the attention scale too; rope.scaling.finetuned switches positions off."""
    h.ignore(*FOREIGN_KEYS)
    rotary = rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True)
    scale = h.number("attention.scale", 0.0) or head_dim(h) ** -0.5
    mixer = attention(h, rotary if h.flag("rope.scaling.finetuned", True) else None, scale=scale)
    scales = h.number("embedding_scale", 0.0), h.number("residual_scale", 0.0), h.number("logit_scale")
    return scaled_llama(h, mixer, *scales, genai_type="granite")


@architecture("granitehybrid", "Granite 4 H")
def granitehybrid(h: Hparams) -> ModelSpec:
    """As Granite, but a layer without key/value heads is a state space; logits need no divisor."""
    h.ignore("deepstack_mapping")
    rotary = rope(h, head_dim(h), interleaved=True, partial=True, freqs=True)
    turned = rotary if h.flag("rope.scaling.finetuned", True) else None
    scale = h.number("attention.scale", 0.0) or head_dim(h) ** -0.5
    scans, headless = mamba2_mixer(h), without_heads(h)

    def mixer(layer: int) -> Module:
        return scans if headless[layer] else attention(h, turned, layer, scale=scale)

    scales = h.number("embedding_scale", 0.0), h.number("residual_scale", 0.0), h.number("logit_scale", 0.0) or 1.0
    shared, width = h.integer("expert_shared_feed_forward_length", 0), h.positive("feed_forward_length")
    if h.integer("expert_count", 0) == 0:
        return scaled_llama(h, mixer, *scales)
    beside = shared_expert(shared) if shared else None
    mixture = experts(h, width, normalize=True, shared=beside)
    return scaled_llama(h, mixer, *scales, mlp=mixture, ignored=(*EXPERT_SCALES, *SHARED_SCALES))


def scaled_llama(
    h: Hparams,
    mixer: Module | Callable[[int], Module],
    embedding: float,
    residual: float,
    logits: float,
    genai_type: str = "decoder",
    mlp: Module | None = None,
    ignored: tuple[str, ...] = (),
) -> ModelSpec:
    """A Llama with multipliers (0: none) and a divisor of the logits."""
    if logits == 0:
        raise MobiusError(f"{h.architecture}.logit_scale is 0, and logits are divided by it", "the metadata is damaged")
    return decoder(
        h,
        stack(h, mixer, mlp or gated_mlp(h), scale=residual or 1.0),
        rms_norm(h),
        genai_type=genai_type,
        embedding_scale=embedding or 1.0,
        logit_scale=1 / logits,
        ignored=ignored,
    )
