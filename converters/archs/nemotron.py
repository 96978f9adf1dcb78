"""Nemotron and Minitron: layer norms with biases, squared ReLU without a gate, partial rotary embedding."""

from converters.archs.common import WINDOW_KEYS, attention, decoder, head_dim, layer_norm, plain, stack
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec


@architecture("nemotron", "Nemotron 4, Minitron")
def nemotron(h: Hparams) -> ModelSpec:
    """The first channels of each head turn; the norms' weights hold 1 + w already."""
    h.ignore(*WINDOW_KEYS, "attention.scale")
    mixer = attention(h, rope(h, head_dim(h), partial=True))
    return decoder(h, stack(h, mixer, plain(h, "relu_squared")), layer_norm(h), tied=False, genai_type="nemotron")
