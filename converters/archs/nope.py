"""Attention without rotary embedding: positions are learned, or biases, or not there at all."""

from typing import Any

from converters.archs.common import attention
from converters.archs.hparams import Hparams
from converters.archs.rope import YARN_KEYS
from converters.spec import Attention

ROPE_KEYS = (
    *("rope.dimension_count", "rope.freq_base", "rope.scaling.type", "rope.scaling.factor", "rope.scaling.attn_factor"),
    *("rope.scaling.original_context_length", *YARN_KEYS),
)


def nope(h: Hparams, **choices: Any) -> Attention:
    """Attention without a rotary embedding, in all layers; `choices` are fields of `Attention`."""
    h.ignore(*ROPE_KEYS)
    return attention(h, None, **choices)


def alibi(h: Hparams, fixed: float | None = None, **choices: Any) -> Attention:
    """Attention with ALiBi (arXiv 2108.12409) of a fixed exponent, or the file's; none where that is 0 or missing."""
    h.ignore("attention.max_alibi_bias")
    bias = max(0.0, h.number("attention.max_alibi_bias", 0.0)) if fixed is None else fixed
    return nope(h, max_alibi_bias=bias, **choices)
