"""Ling and Ring, first and second: mixtures with shared experts."""

from converters.archs.common import attention, decoder, head_dim, rms_norm
from converters.archs.dense_first import dense_first, mixture
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, scores
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import HeadNorm, ModelSpec

UNUSED = (*EXPERT_SCALES, *SHARED_SCALES)


@architecture("bailingmoe", "Ling lite and plus")
def bailingmoe(h: Hparams) -> ModelSpec:
    """Interleaved rotary pairs; experts in all layers, whatever the file says of dense ones."""
    h.raw("leading_dense_block_count")
    mixer = attention(h, rope(h, head_dim(h), interleaved=True))
    mlp = mixture(h, normalize=h.flag("expert_weights_norm", False))
    return decoder(h, stack(h, mixer, mlp), rms_norm(h), tied=False, ignored=UNUSED)


@architecture("bailingmoe2", "Ling 2, Ring 2: mini, flash")
def bailingmoe2(h: Hparams) -> ModelSpec:
    """q/k norms; shared experts may have a width of their own; the file says how the router scores."""
    mixer = attention(h, rope(h, head_dim(h), partial=True), qk_norm=HeadNorm())
    shared_width = h.integer("expert_shared_feed_forward_length", 0) or None
    normalize = h.flag("expert_weights_norm", False)
    mlp = dense_first(h, shared_width=shared_width, scores=scores(h), normalize=normalize)
    return decoder(h, stack(h, mixer, mlp), rms_norm(h), tied=False, ignored=UNUSED)
