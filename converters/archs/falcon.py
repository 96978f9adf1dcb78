"""Falcon: both blocks see the layer's input; no biases but those of the norms."""

from dataclasses import replace

from converters.archs.common import SHARED, WINDOW_KEYS, attention, decoder, head_dim, layer_norm, plain, stack
from converters.archs.hparams import Hparams
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec, Norms

TWO_NORMS = Norms("attn_norm_2", feed_forward="attn_norm")  # of layers that have both, despite the first one's name


@architecture("falcon", "Falcon 7B, 40B, 180B")
def falcon(h: Hparams) -> ModelSpec:
    """Layer norms, GELU; one norm for both blocks (7B) or one each (40B)."""
    h.ignore(*WINDOW_KEYS, "use_parallel_residual")
    mixer = attention(h, rope(h, head_dim(h)))
    layers = stack(h, mixer, plain(h, "gelu_tanh"), SHARED, parallel=True)
    layers = tuple(
        replace(layer, norms=TWO_NORMS) if h.has_tensor(f"blk.{layer.block}.attn_norm_2.weight") else layer
        for layer in layers
    )
    return decoder(h, layers, layer_norm(h))
