"""What a model is, in numbers only: the one description that everything downstream reads."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class YarnScaling:
    """YaRN (arXiv 2309.00071) as llama.cpp applies it: `factor` stretches low frequencies only.

    `beta_fast` and `beta_slow` count turns within the original context. A `log_multiplier` L divides the
    magnitude 1 + 0.1 ln(factor) by 1 + 0.1 L ln(factor).
    """

    factor: float
    original_context: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    log_multiplier: float = 0.0


@dataclass(frozen=True)
class LinearScaling:
    """Every position is divided by `factor`."""

    factor: float


@dataclass(frozen=True)
class ContextFactors:
    """Two tensors of frequency divisors: `long` where the configured context exceeds the original one."""

    long: str
    short: str
    original_context: int


@dataclass(frozen=True)
class Rope:
    """Rotary embedding of the first `dim` channels of a head.

    `interleaved` says that the file's rows pair channels (2 i, 2 i + 1), llama.cpp's "norm" order; the graph
    always pairs (i, i + dim / 2), so such rows are put in that order. `factors` names a tensor of dim / 2
    divisors of the frequencies, or two to choose from. `magnitude` multiplies cos and sin, on top of what YaRN
    itself does.
    """

    theta: float
    dim: int
    interleaved: bool = False
    scaling: LinearScaling | YarnScaling | None = None
    factors: str | ContextFactors | None = None
    magnitude: float = 1.0


@dataclass(frozen=True)
class HeadNorm:
    """The model's kind of norm on q and k.

    `span`: "head" (one weight vector for all heads), "each" (its own for each head), or "width" (over all heads
    together). `after_rope`: on the turned heads instead of before.
    """

    span: str = "head"
    after_rope: bool = False


@dataclass(frozen=True)
class QueryTemperature:
    """Queries at position p are multiplied by 1 + scale * ln(floor(p / floor) + 1)."""

    scale: float
    floor: int


@dataclass(frozen=True)
class Attention:
    """Grouped-query attention. `window` counts the current token; None means all earlier positions.

    `value_dim` channels per value head (`head_dim` for queries and keys). `clip` bounds q, k and v to [-clip, clip].
    `max_alibi_bias` is the exponent of ALiBi's slopes (arXiv 2108.12409), 0 for none. `sub_norm`: the heads'
    output is normed before the output projection.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    rope: Rope | None
    scale: float
    window: int | None = None
    softcap: float = 0.0
    qk_norm: HeadNorm | None = None
    clip: float = 0.0
    max_alibi_bias: float = 0.0
    temperature: QueryTemperature | None = None
    sub_norm: bool = False


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention, unfolded (MiniCPM3): low-rank q and kv, one rotary key shared by all heads."""

    heads: int
    nope_dim: int
    value_dim: int
    q_rank: int
    kv_rank: int
    rope: Rope
    scale: float
    window: int | None = None

    @property
    def kv_heads(self) -> int:
        """As many as query heads."""
        return self.heads

    @property
    def head_dim(self) -> int:
        """Channels of a query or key."""
        return self.nope_dim + self.rope.dim


@dataclass(frozen=True)
class Projection:
    """A matrix product in the place of attention (DeciLM)."""

    width: int


Mixer = Attention | LatentAttention | Projection


@dataclass(frozen=True)
class Xielu:
    """xIELU (arXiv 2411.13010): x > 0: p x^2 + beta x; else (expm1(min(x, eps)) - x) n + beta x."""

    positive: float
    negative: float
    beta: float
    epsilon: float


@dataclass(frozen=True)
class FeedForward:
    """down(activation(gate(x)) * up(x)), or down(activation(up(x))) without a gate.

    `activation`: "silu", "gelu_tanh", "relu", "relu_squared" or Xielu. `gate`: "separate", "fused" (the first half
    of ffn_up's rows) or "none". `sub_norm`: down's input is normed. `divisors`: down's input is divided by the
    tensor ffn.act.scales.
    """

    width: int
    activation: str | Xielu
    gate: str = "separate"
    sub_norm: bool = False
    divisors: bool = False


@dataclass(frozen=True)
class Norms:
    """Names, below `blk.N.`, of the norms around a layer's two blocks; None where there is none."""

    attention: str | None = "attn_norm"
    after_attention: str | None = None
    feed_forward: str | None = "ffn_norm"
    after_feed_forward: str | None = None


@dataclass(frozen=True)
class Layer:
    """One decoder layer; its tensors are named `blk.{block}.*`.

    Without a mixer it is its feed-forward alone. `parallel`: the feed-forward sees the layer's input instead of
    attention's result. `residual_scale` multiplies what both blocks add. `closing_norm` names a norm of the residual
    stream behind the layer.
    """

    block: int
    mixer: Mixer | None
    feed_forward: FeedForward
    norms: Norms = Norms()
    parallel: bool = False
    residual_scale: float = 1.0
    closing_norm: str | None = None


@dataclass(frozen=True)
class Norm:
    """The kind of all norms of a model: "rms" or "layer"; some have no weights."""

    kind: str
    epsilon: float
    weights: bool = True


@dataclass(frozen=True)
class ModelSpec:
    """A decoder-only model.

    `embedding` and `head` name matrices (`token_embd`, `output`). `logit_scale` multiplies the logits.
    `ignored`: patterns of tensors that llama.cpp loads and never uses.
    `wide_residual`: the residual stream exceeds float16's 65504, so it stays float32 in float16 graphs.
    """

    architecture: str
    genai_type: str
    hidden: int
    vocab: int
    context_length: int
    norm: Norm
    layers: tuple[Layer, ...]
    embedding: str = "token_embd"
    head: str = "output"
    embedding_scale: float = 1.0
    embedding_norm: bool = False
    learned_positions: bool = False
    logit_scale: float = 1.0
    final_softcap: float = 0.0
    ignored: tuple[str, ...] = ()
    wide_residual: bool = False

    @property
    def attention(self) -> Attention | LatentAttention:
        """The first layer's that attends."""
        mixers = (layer.mixer for layer in self.layers)
        return next(mixer for mixer in mixers if isinstance(mixer, (Attention, LatentAttention)))

    @property
    def tied_head(self) -> bool:
        """Whether embedding and head are one matrix."""
        return self.embedding == self.head

    def as_dict(self) -> dict[str, Any]:
        """For JSON: nested dictionaries of plain numbers."""
        return asdict(self) | {"tied_head": self.tied_head}
