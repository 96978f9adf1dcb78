"""Cohere's Command models: both blocks of a layer see one layer norm's result; logits are scaled; tied head."""

from collections.abc import Callable, Container

from converters.archs.common import attention, decoder, gated_mlp, head_dim, layer_norm, local_layers
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import HuggingFace, windows
from converters.archs.layers import SHARED, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, ModelSpec

PERIOD = 4  # every fourth layer is global, unless the file says otherwise


def hugging_face(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """The scale of the logits, and whether q and k are normed."""
    normed = isinstance(spec.attention, Attention) and spec.attention.qk_norm is not None
    return HuggingFace(
        "cohere",
        "CohereForCausalLM",
        values={"logit_scale": spec.logit_scale, "use_qk_norm": normed},
        optimum=("kv_heads",),
    )


def hugging_face2(spec: ModelSpec, tensors: Container[str]) -> HuggingFace:
    """Also the windows; layers without one have no positions there either."""
    values = {"logit_scale": spec.logit_scale, **windows(spec)}
    return HuggingFace("cohere2", "Cohere2ForCausalLM", values=values)


@architecture("command-r", "Command R, Command R+, Aya 23, Aya Expanse", hugging_face)
def command_r(h: Hparams) -> ModelSpec:
    """Interleaved rotary pairs; the largest model norms each head of q and k with weights of its own."""
    qk_norm = HeadNorm("each") if h.has_tensor("blk.0.attn_q_norm.weight") else None
    rotary = rope(h, head_dim(h), interleaved=True, partial=True)
    return _cohere(h, attention(h, rotary, qk_norm=qk_norm), h.number("logit_scale", 0.0))


@architecture("cohere2", "Command R7B, Command A", hugging_face2)
def cohere2(h: Hparams) -> ModelSpec:
    """Local layers with rotary positions, and global ones without any."""
    h.ignore("rope.freq_base_swa")
    window, local = h.positive("attention.sliding_window"), local_layers(h, PERIOD)
    rotary = rope(h, head_dim(h), interleaved=True, partial=True)

    def mixer(i: int) -> Attention:
        return attention(h, rotary, window=window) if local[i] else attention(h, None)

    return _cohere(h, mixer, h.number("logit_scale"), mlp_scales=True)


def _cohere(
    h: Hparams,
    mixer: Attention | Callable[[int], Attention],
    logit_scale: float,
    mlp_scales: bool = False,
) -> ModelSpec:
    """What both have in common; a `logit_scale` of 0 means none."""
    layers = stack(h, mixer, gated_mlp(h), SHARED, parallel=True)
    return decoder(
        h,
        layers,
        layer_norm(h),
        tied=True,
        logit_scale=logit_scale or 1.0,
        mlp_scales=mlp_scales,
    )
