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
    output is normed before the output projection. `gated`: the sigmoid of a gate multiplies the heads' output;
    the gate is attn_gate, or, where a layer has none, in attn_q, head by head behind the rows of the query.
    `value_norm`: each value head is normed, without weights.
    `keys_as_values`: there is no attn_v, values are what attn_k gives, before the norm and the rotation of keys.
    `cache_of`: the place among the model's layers of that whose keys and values are read; then there are none of its
    own, and no states. None: its own.
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
    value_norm: bool = False
    keys_as_values: bool = False
    cache_of: int | None = None


@dataclass(frozen=True)
class LatentAttention(Module):
    """Multi-head latent attention (arXiv 2405.04434): low-rank keys and values, one key shared by all heads.

    `q_rank` of low-rank queries; 0: one matrix makes them. `absorbed`: the file has, for each head, a matrix that takes
    queries into the space of the `kv_rank` latent channels, and one that takes values out of it, so that the cache
    needs no more than these channels and the shared key; else one matrix that unfolds them to keys and values. The
    shared key, the last channels of a head's, is rotary; without a `rope` it has `unturned_dim` channels.
    """

    heads: int
    nope_dim: int
    value_dim: int
    q_rank: int
    kv_rank: int
    rope: Rope | None
    scale: float
    window: int | None = None
    absorbed: bool = False
    temperature: QueryTemperature | None = None
    unturned_dim: int = 0

    @property
    def shared_dim(self) -> int:
        """Channels of the key that all heads share."""
        return self.unturned_dim if self.rope is None else self.rope.dim

    @property
    def kv_heads(self) -> int:
        """As many as query heads."""
        return self.heads

    @property
    def head_dim(self) -> int:
        """Channels of a query or key."""
        return self.nope_dim + self.shared_dim


@dataclass(frozen=True)
class LinearMixer(Module):
    """A matrix product in the place of attention (DeciLM)."""

    width: int
