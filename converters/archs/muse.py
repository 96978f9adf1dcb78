"""Muse Glimmer: gated attention, rotary embedding in local layers only, norms of the embedding and behind blocks."""

from dataclasses import replace

from converters.archs.common import attention, decoder, gated_mlp, head_dim, local_layers, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import SANDWICH, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import Attention, HeadNorm, Layer, ModelSpec

PERIOD = 4  # every fourth layer is global, unless the file says otherwise
POST_EPSILON = 1e-8  # of norms behind blocks
FINAL_SOFTCAP = 30.0  # of the logits, unless the file says otherwise; 0 is none


@architecture("muse-glimmer", "Muse Glimmer, text")
def muse_glimmer(h: Hparams) -> ModelSpec:
    """SiLU-gated, norms on q and k, interleaved rotary pairs; norms hold 1 + w already, that of q its scale too."""
    whole = rope(h, head_dim(h), interleaved=True)
    # Positions of local layers are never stretched.
    turned = replace(whole, theta=h.number("rope.freq_base_swa", whole.theta), scaling=None)
    window, local = h.positive("attention.sliding_window"), local_layers(h, PERIOD)

    def mixer(i: int) -> Attention:
        rotary, span = (turned, window) if local[i] else (None, None)
        return attention(h, rotary, i, window=span, qk_norm=HeadNorm(), gated=True)

    return decoder(
        h,
        tuple(_with_own_epsilon(layer) for layer in stack(h, mixer, gated_mlp(h), SANDWICH)),
        rms_norm(h),
        tied=False,
        plain_embedding_norm=True,
        logit_scale=h.number("logit_scale"),
        final_softcap=h.number("final_logit_softcapping", FINAL_SOFTCAP),
        ignored=("blk.*.attn_gate.scale",),
    )


def _with_own_epsilon(layer: Layer) -> Layer:
    return replace(layer, blocks=tuple(replace(block, post_epsilon=POST_EPSILON) for block in layer.blocks))
