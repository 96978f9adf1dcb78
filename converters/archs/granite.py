"""Granite and MiniCPM: as Llama, with multipliers of embeddings, of what each block adds, and of logits."""

from converters.archs.common import WINDOW_KEYS, attention, blocks, decoder, gated, head_dim, rms_norm, stack
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, ModelSpec, Rope
from repack.errors import MobiusError

# What MiniCPM's first files, which lack the keys, mean.
EMBEDDING_SCALE, DEPTH_SCALE, BASE_WIDTH = 12.0, 1.4, 256.0
# Keys that converters write for models whose family has state-space layers, experts or images.
FOREIGN_KEYS = (
    *(f"ssm.{name}" for name in ("conv_kernel", "state_size", "group_count", "inner_size", "time_step_rank")),
    "expert_shared_feed_forward_length",
    "deepstack_mapping",
)


@architecture("granite", "Granite 3, Granite 4 dense")
def granite(h: Hparams) -> ModelSpec:
    """All multipliers from the file, the attention scale too; rope.scaling.finetuned switches positions off."""
    h.ignore(*WINDOW_KEYS, *FOREIGN_KEYS)
    rotary = _rotary(h)
    scale = h.number("attention.scale", 0.0) or head_dim(h) ** -0.5
    mixer = attention(h, rotary if h.flag("rope.scaling.finetuned", True) else None, scale=scale)
    scales = h.number("embedding_scale", 0.0), h.number("residual_scale", 0.0), h.number("logit_scale")
    return _scaled(h, mixer, *scales, genai_type="granite")


@architecture("minicpm", "MiniCPM 1, MiniCPM 4")
def minicpm(h: Hparams) -> ModelSpec:
    """Multipliers of 12, 1.4 / sqrt(layers) and 256 / hidden unless the file has them; it divides by the last."""
    h.ignore(*WINDOW_KEYS, "attention.scale")
    return _scaled(
        h,
        attention(h, _rotary(h)),
        h.number("embedding_scale", EMBEDDING_SCALE),
        h.number("residual_scale", DEPTH_SCALE / blocks(h) ** 0.5),
        # llama.cpp divides by this default too, though the keys that converters write hold its reciprocal.
        h.number("logit_scale", BASE_WIDTH / h.positive("embedding_length")),
    )


def _rotary(h: Hparams) -> Rope:
    return rope(h, head_dim(h), interleaved=True, freqs=True, long_factors=True)


def _scaled(
    h: Hparams, mixer: Attention, embedding: float, residual: float, logits: float, genai_type: str = "decoder"
) -> ModelSpec:
    """A Llama with multipliers (0: none) and a divisor of the logits."""
    if logits == 0:
        raise MobiusError(f"{h.architecture}.logit_scale is 0, and logits are divided by it", "the metadata is damaged")
    return decoder(
        h,
        stack(h, mixer, gated(h), residual_scale=residual or 1.0),
        rms_norm(h),
        genai_type=genai_type,
        embedding_scale=embedding or 1.0,
        logit_scale=1 / logits,
    )
