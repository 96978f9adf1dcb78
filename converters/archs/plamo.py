"""PLaMo 1: parallel blocks behind one norm."""

from converters.archs.common import attention, decoder, gated_mlp, head_dim, rms_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import SHARED, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("plamo", "PLaMo 1")
def plamo(h: Hparams) -> ModelSpec:
    """SiLU-gated, RMS norms, split-half rotary pairs, an untied head."""
    layers = stack(h, attention(h, rope(h, head_dim(h))), gated_mlp(h), SHARED, parallel=True)
    return decoder(h, layers, rms_norm(h), tied=False)
