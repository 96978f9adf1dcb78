"""DeepSeek 2 and 3, and what is written as them: multi-head latent attention, mixtures with shared experts."""

import math
from collections.abc import Callable
from dataclasses import replace

from converters.archs.common import decoder, head_dim, rms_norm, value_dim
from converters.archs.dense_first import dense_first
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, scores
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.blocks.rope import magnitude
from converters.spec import SIGMOID, SOFTMAX, LatentAttention, ModelSpec, Module, QueryTemperature, Rope, YarnScaling
from repack.errors import MobiusError

LOG_SHARE = 0.1  # of YaRN's logarithm, which files have multiplied into their multiplier
UNUSED = (*EXPERT_SCALES, *SHARED_SCALES, "blk.*.attn_q.scale", "output.scale")
GLM_LAYERS, GLM_VOCAB = (47, 48), 154880  # GLM-4.7-Flash, whose first files do not say how its router scores


@architecture("deepseek2", "DeepSeek V2, V2 Lite, V3, R1, Kimi K2, GLM-4.7-Flash")
def deepseek2(h: Hparams) -> ModelSpec:
    """A multiplier of YaRN's logarithm leaves rotary embeddings as they are, and scales attention."""
    return _latent_model(h, keeps_magnitude=True)


@architecture("mistral4", "Mistral 4, text")
def mistral4(h: Hparams) -> ModelSpec:
    """As DeepSeek 2; the multiplier scales rotary embeddings too."""
    return _latent_model(h, keeps_magnitude=False)


@architecture("glm-dsa", "GLM-5, attending to all positions as llama.cpp does")
def glm_dsa(h: Hparams) -> ModelSpec:
    """The published model attends to those `top_k` positions that an indexer ranks first: to all of a shorter text."""
    h.ignore(*(f"attention.indexer.{key}" for key in ("head_count", "key_length", "top_k")))
    h.raw("rope.dimension_sections")
    layers = stack(h, latent_attention(h), _mixture(h, SIGMOID))
    return decoder(h, layers, rms_norm(h), ignored=(*UNUSED, "blk.*.indexer.*"))


def _latent_model(h: Hparams, *, keeps_magnitude: bool) -> ModelSpec:
    glm = h.positive("block_count") in GLM_LAYERS and h.source.tensors["token_embd.weight"].shape[0] == GLM_VOCAB
    multiplier = h.number("rope.scaling.yarn_log_multiplier", 0.0) / LOG_SHARE
    mixer = replace(latent_attention(h, multiplier, keeps_magnitude), temperature=_temperature(h))
    return decoder(h, stack(h, mixer, _mixture(h, SIGMOID if glm else SOFTMAX)), rms_norm(h), ignored=UNUSED)


def _mixture(h: Hparams, scoring: str) -> Callable[[int], Module]:
    """`scoring` where the file does not say how the router scores."""
    return dense_first(h, scores=scores(h, scoring), normalize=h.flag("expert_weights_norm", False))


def latent_attention(h: Hparams, multiplier: float = 0.0, keeps_magnitude: bool = False) -> LatentAttention:
    """With the file's ranks and parts of a head; `multiplier` of YaRN's logarithm scales it."""
    heads, rank = h.positive("attention.head_count"), h.positive("attention.kv_lora_rank")
    absorbed = h.integer("attention.key_length_mla", 0) > 0
    dim = h.positive("attention.key_length_mla") if absorbed else head_dim(h)
    value = h.positive("attention.value_length_mla") if absorbed else value_dim(h)
    rotary = _rotary(h, dim, multiplier, keeps_magnitude)
    cached = (1, rank + rotary.dim, rank) if absorbed else (heads, dim, value)
    if rotary.dim == dim or (h.positive("attention.head_count_kv", heads), head_dim(h), value_dim(h)) != cached:
        raise MobiusError(
            f"{h.architecture} contradicts itself: head_count_kv, key_length and value_length must be {cached}, and"
            f" rope.dimension_count below {dim}",
            "the metadata is damaged or unusual",
        )
    return LatentAttention(
        heads=heads,
        nope_dim=dim - rotary.dim,
        value_dim=value,
        q_rank=_q_rank(h),
        kv_rank=rank,
        rope=rotary,
        scale=attention_scale(rotary, dim, multiplier),
        absorbed=absorbed,
    )


def _q_rank(h: Hparams) -> int:
    """0 where the file has one matrix for queries; llama.cpp asks for it by the number of layers."""
    h.raw("attention.q_lora_rank")
    return 0 if h.has_tensor("blk.0.attn_q.weight") else h.positive("attention.q_lora_rank")


def _rotary(h: Hparams, dim: int, multiplier: float, keeps_magnitude: bool) -> Rope:
    found = rope(h, dim, interleaved=True, partial=True)
    if not isinstance(found.scaling, YarnScaling) or not multiplier:
        return found
    return replace(found, scaling=replace(found.scaling, log_multiplier=1.0 if keeps_magnitude else multiplier))


def attention_scale(rotary: Rope, dim: int, multiplier: float = 0.0) -> float:
    """1 / sqrt(dim), times the square of what positions are stretched by, as llama.cpp has it.

    It adds a logarithm also where positions are stretched without YaRN, and so where `rotary` has not got it.
    """
    factor = rotary.scaling.factor if rotary.scaling else 1.0
    log = LOG_SHARE * math.log(factor)
    first = magnitude(rotary) if isinstance(rotary.scaling, YarnScaling) else rotary.magnitude * (1 + log)
    return float((first * (1 + log * multiplier)) ** 2 / dim**0.5)


def _temperature(h: Hparams) -> QueryTemperature | None:
    h.raw("attention.temperature_length")
    scale = h.number("attention.temperature_scale", 0.0)
    return QueryTemperature(scale, h.positive("attention.temperature_length")) if scale else None
