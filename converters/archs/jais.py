"""Jais: SiLU-gated, ALiBi, muP's attention scale."""

from converters.archs.common import decoder, gated_mlp, head_dim, layer_norm
from converters.archs.hparams import Hparams
from converters.archs.layers import stack
from converters.archs.nope import alibi
from converters.archs.registry import architecture
from converters.spec import ModelSpec


@architecture("jais", "Jais")
def jais(h: Hparams) -> ModelSpec:
    """Layer norms, scale 1 / head_dim (muP, arXiv 2203.03466). Never tied."""
    mixer = alibi(h, scale=1 / head_dim(h))
    return decoder(h, stack(h, mixer, gated_mlp(h)), layer_norm(h), tied=False)
