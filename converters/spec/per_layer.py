"""Embeddings that each layer has for itself (Gemma 3n)."""

from dataclasses import dataclass
from typing import ClassVar

from converters.spec.layer import Module


@dataclass(frozen=True)
class PerLayerEmbedding:
    """What each layer gets of a token beside the residual stream: `width` channels, made before the first layer.

    (table_scale * per_layer_token_embd[token] + norm(projection_scale * per_layer_model_proj(embedding))) * sum_scale,
    both with the channels of all layers side by side; the norm, per_layer_proj_norm, is over those of one layer.
    """

    width: int
    table_scale: float
    projection_scale: float
    sum_scale: float


@dataclass(frozen=True)
class PerLayerInput(Module):
    """proj(activation(inp_gate(x)) * what the layer has of the per-layer embedding)."""

    wide: ClassVar[bool] = True
    activation: str
