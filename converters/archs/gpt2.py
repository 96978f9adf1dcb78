"""GPT-2 and its kin: layer norms with biases and a GELU feed-forward without a gate, one block after the other."""

from typing import Any

from converters.archs.common import WINDOW_KEYS, attention, decoder, head_dim, layer_norm, plain, stack
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import YARN_KEYS, rope
from converters.spec import Attention, ModelSpec

ROPE_KEYS = (
    *("rope.dimension_count", "rope.freq_base", "rope.scaling.type", "rope.scaling.factor", "rope.scaling.attn_factor"),
    *("rope.scaling.original_context_length", *YARN_KEYS),
)


@architecture("starcoder", "StarCoder, SantaCoder, Granite Code 20B and 34B")
@architecture("gpt2", "GPT-2")
def learned(h: Hparams) -> ModelSpec:
    """Learned positions, no rotary embedding; StarCoder has one key/value head."""
    return _sequential(h, unturned(h), learned_positions=True)


@architecture("starcoder2", "StarCoder 2")
def starcoder2(h: Hparams) -> ModelSpec:
    """Rotary instead of learned positions; windows are not read."""
    return _sequential(h, _turned(h))


@architecture("codeshell", "CodeShell")
def codeshell(h: Hparams) -> ModelSpec:
    """As StarCoder 2; where one matrix is embedding and head, its name is that of the head."""
    shared = not h.has_tensor("token_embd.weight")
    return _sequential(h, _turned(h), embedding="output" if shared else "token_embd", tied=False)


def unturned(h: Hparams, **choices: Any) -> Attention:
    """Attention without a rotary embedding, in all layers; `choices` are fields of `Attention`."""
    h.ignore(*ROPE_KEYS, *WINDOW_KEYS)
    return attention(h, None, **choices)


def _turned(h: Hparams) -> Attention:
    """Attention with whole heads turned, split-half pairs."""
    h.ignore(*WINDOW_KEYS)
    return attention(h, rope(h, head_dim(h)))


def _sequential(h: Hparams, mixer: Attention, **choices: Any) -> ModelSpec:
    return decoder(h, stack(h, mixer, plain(h, "gelu_tanh")), layer_norm(h), **choices)
