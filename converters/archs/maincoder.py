"""Maincoder: as Hunyuan."""

from converters.archs.common import head_dim
from converters.archs.hparams import Hparams
from converters.archs.hunyuan import late_normed
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("maincoder", "Maincoder")
def maincoder(h: Hparams) -> ModelSpec:
    """Interleaved rotary pairs."""
    return late_normed(h, rope(h, head_dim(h), interleaved=True))
