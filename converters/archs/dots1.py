"""dots.llm1: q/k norms, mixtures with shared experts."""

from converters.archs.common import attention, decoder, head_dim, rms_norm
from converters.archs.dense_first import dense_first
from converters.archs.experts import EXPERT_SCALES, SHARED_SCALES, scores
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import HeadNorm, ModelSpec


@architecture("dots1", "dots.llm1")
def dots1(h: Hparams) -> ModelSpec:
    """The file says how the router scores."""
    mixer = attention(h, rope(h, head_dim(h)), qk_norm=HeadNorm())
    mlp = dense_first(h, scores=scores(h), normalize=h.flag("expert_weights_norm", False))
    layers = stack(h, mixer, mlp)
    return decoder(h, layers, rms_norm(h), tied=False, ignored=(*EXPERT_SCALES, *SHARED_SCALES))
