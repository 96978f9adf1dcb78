"""openPangu-Embedded: biases on all four projections of attention."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("pangu-embedded", "openPangu-Embedded")
def pangu_embedded(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, split-half rotary pairs without frequency factors, though a file may have some."""
    layers = stack(h, attention(h, rope(h, head_dim(h))), gated_mlp(h))
    return decoder(h, layers, rms_norm(h), ignored=("rope_freqs.weight",))
