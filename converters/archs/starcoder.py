"""StarCoder 1 and 2: as GPT-2, the second with rotary instead of learned positions."""

from converters.archs.common import attention, head_dim
from converters.archs.gpt2 import gpt2_like
from converters.archs.hparams import Hparams
from converters.archs.nope import nope
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("starcoder", "StarCoder, SantaCoder, Granite Code 20B and 34B")
def starcoder(h: Hparams) -> ModelSpec:
    """Learned positions; one key/value head."""
    return gpt2_like(h, nope(h), learned_positions=True)


@architecture("starcoder2", "StarCoder 2")
def starcoder2(h: Hparams) -> ModelSpec:
    """Whole heads rotated, split-half pairs; windows are not read."""
    return gpt2_like(h, attention(h, rope(h, head_dim(h))))
