"""Falcon: both blocks see the layer's input; no biases but those of the norms."""

from converters.archs.common import attention, decoder, head_dim, layer_norm, mlp
from converters.archs.hparams import Hparams
from converters.archs.layers import SHARED, NormNames, stack
from converters.archs.registry import architecture
from converters.archs.rope import rope
from converters.spec import ModelSpec

TWO_NORMS = NormNames("attn_norm_2", mlp="attn_norm")  # of layers that have both, despite the first one's name


@architecture("falcon", "Falcon 7B, 40B, 180B")
def falcon(h: Hparams) -> ModelSpec:
    """Layer norms, GELU; one norm for both blocks (7B) or one each (40B)."""
    h.ignore("use_parallel_residual")
    mixer = attention(h, rope(h, head_dim(h)))

    def norms(i: int) -> NormNames:
        return TWO_NORMS if h.has_tensor(f"blk.{i}.attn_norm_2.weight") else SHARED

    return decoder(h, stack(h, mixer, mlp(h, "gelu_tanh"), norms, parallel=True), layer_norm(h))
