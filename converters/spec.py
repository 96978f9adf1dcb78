"""What a model is, in numbers only: the one description that everything downstream reads."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class YarnScaling:
    """YaRN (arXiv 2309.00071) as llama.cpp applies it: `factor` stretches low frequencies only."""

    factor: float
    original_context: int


@dataclass(frozen=True)
class LinearScaling:
    """Every position is divided by `factor`."""

    factor: float


@dataclass(frozen=True)
class Rope:
    """Rotary embedding of the first `dim` channels of a head.

    `interleaved` says that the file's rows pair channels (2 i, 2 i + 1), llama.cpp's "norm" order; the graph
    always pairs (i, i + dim / 2), so such rows are put in that order. `factors` names a tensor of dim / 2
    divisors of the frequencies. `magnitude` multiplies cos and sin, on top of what YaRN itself does.
    """

    theta: float
    dim: int
    interleaved: bool = False
    scaling: LinearScaling | YarnScaling | None = None
    factors: str | None = None
    magnitude: float = 1.0


@dataclass(frozen=True)
class Attention:
    """Grouped-query attention. `window` counts the current token; None means all earlier positions."""

    heads: int
    kv_heads: int
    head_dim: int
    rope: Rope | None
    scale: float
    window: int | None = None
    softcap: float = 0.0
    qk_norm: bool = False


@dataclass(frozen=True)
class GatedMlp:
    """down(activation(gate(x)) * up(x)); `activation` is "silu" or "gelu_tanh"."""

    width: int
    activation: str


@dataclass(frozen=True)
class Layer:
    """One decoder layer; `post_norms` adds a norm after the mixer and after the feed-forward."""

    mixer: Attention
    feed_forward: GatedMlp
    post_norms: bool = False


@dataclass(frozen=True)
class ModelSpec:
    """A decoder-only model.

    `wide_residual`: the residual stream exceeds float16's 65504, so it stays float32 in float16 graphs.
    """

    architecture: str
    genai_type: str
    hidden: int
    vocab: int
    context_length: int
    norm_epsilon: float
    layers: tuple[Layer, ...]
    tied_head: bool
    embedding_scale: float = 1.0
    final_softcap: float = 0.0
    wide_residual: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For JSON: nested dictionaries of plain numbers."""
        return asdict(self)
