"""Mechanisms that mix tokens by attention, and the one that pruned models have in its place."""

from dataclasses import dataclass

from converters.spec.layer import Module
from converters.spec.rope import Rope


@dataclass(frozen=True)
class HeadNorm:
    """The model's kind of norm on q and k.

    `span`: "head" (one weight vector for all heads), "each" (its own for each head), or "width" (over all heads
    together). `after_rope`: on the rotated heads instead of before.
    """

    span: str = "head"
    after_rope: bool = False


@dataclass(frozen=True)
class QueryTemperature:
    """Queries at position p are multiplied by 1 + scale * ln(floor(p / floor) + 1)."""

    scale: float
    floor: int


@dataclass(frozen=True)
class Attention(Module):
    """Grouped-query attention. `window` counts the current token; None means all earlier positions.

    `value_dim` channels per value head (`head_dim` for queries and keys). `clip` bounds q, k and v to [-clip, clip].
    `max_alibi_bias` is the exponent of ALiBi's slopes (arXiv 2108.12409), 0 for none. `sub_norm`: the heads'
    output is normed before the output projection. `gated`: attn_q has, head by head, the rows of a gate behind those
    of the query; its sigmoid multiplies the heads' output. `sinks`: each head has one more score, attn_sinks, which
    takes its share of the softmax and no value. `gate`: the sigmoid of the product attn_gate multiplies the heads'
    output too, "channel" by channel or "head" by head; "" for none.
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
    gated: bool = False
    sinks: bool = False
    gate: str = ""


@dataclass(frozen=True)
class LatentAttention(Module):
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
class LinearMixer(Module):
    """A matrix product in the place of attention (DeciLM)."""

    width: int
