"""GPT-2 and its kin: layer norms with biases and a GELU feed-forward without a gate, one block after the other."""

from typing import Any

from converters.archs.common import decoder, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.hugging_face import GPT2_NAMES, HuggingFace
from converters.archs.layers import stack
from converters.archs.nope import nope
from converters.archs.registry import architecture
from converters.spec import Attention, ModelSpec


@architecture("gpt2", "GPT-2", HuggingFace("gpt2", "GPT2LMHeadModel", GPT2_NAMES))
def gpt2(h: Hparams) -> ModelSpec:
    """Learned positions, no rotary embedding."""
    return gpt2_like(h, nope(h), learned_positions=True)


def gpt2_like(h: Hparams, mixer: Attention, **choices: Any) -> ModelSpec:
    """GPT-2's order with any attention; `choices` are fields of `ModelSpec`."""
    return decoder(h, stack(h, mixer, mlp(h, "gelu_tanh")), layer_norm(h), **choices)
