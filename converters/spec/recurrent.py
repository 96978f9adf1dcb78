"""Mechanisms that mix tokens by a state of fixed size."""

from dataclasses import dataclass

from converters.spec.layer import Module


@dataclass(frozen=True)
class GatedDeltaNet(Module):
    """Linear attention by the gated delta rule (arXiv 2412.06464) behind a short convolution (Qwen 3.5).

    `heads` value heads of `value_dim` channels share `key_heads` of `dim`: head h reads key head h % key_heads, or,
    `grouped`, h // (heads / key_heads). `kernel` is the length of the convolution.
    """

    heads: int
    key_heads: int
    dim: int
    value_dim: int
    kernel: int
    grouped: bool = False

    @property
    def channels(self) -> int:
        """What the convolution reads: q, k and v."""
        return 2 * self.key_heads * self.dim + self.heads * self.value_dim


@dataclass(frozen=True)
class KeyedDeltaNet(Module):
    """The gated delta rule with a decay for each key channel (Kimi Delta Attention, arXiv 2510.26692).

    `heads` of `dim` channels; q, k and v stand behind convolutions of `kernel` tokens. The decays, and the gate behind
    the heads' norm, are made by way of `dim` channels.
    """

    heads: int
    dim: int
    kernel: int


@dataclass(frozen=True)
class GatedShortConv(Module):
    """A convolution over the last `kernel` tokens, channel by channel, whose input and output are gated (LFM 2)."""

    kernel: int


@dataclass(frozen=True)
class StateSpace(Module):
    """`heads` of `head_dim` channels, each with a state of `dim` times as many and a decay of its own per token.

    Heads share B and C of `groups`: head h reads those of group h // (heads / groups). `kernel` is the length of the
    convolution before them.
    """

    heads: int
    groups: int
    dim: int
    head_dim: int
    kernel: int

    @property
    def width(self) -> int:
        """Channels of all heads."""
        return self.heads * self.head_dim


@dataclass(frozen=True)
class Mamba2(StateSpace):
    """A gate, x, B, C and the steps in one product (arXiv 2405.21060); the convolution reads x, B and C.

    `normed`: the gated result is normed, the channels of each group by themselves.
    """

    normed: bool = True

    @property
    def channels(self) -> int:
        """What the convolution reads."""
        return self.width + 2 * self.groups * self.dim


@dataclass(frozen=True)
class ProjectedSpace(StateSpace):
    """A gate and x in one product, head by head; the convolution reads x, and its result makes B, C and the steps.

    All three are normed, and the steps, `step_rank` channels until then, are made one per head by another product.
    """

    step_rank: int


@dataclass(frozen=True)
class Mamba(Module):
    """The state space of Mamba (arXiv 2312.00752): each of `inner` channels has a state of `size` numbers.

    x and a gate in one product; the convolution, `kernel` tokens long, reads x, and its result makes the steps, as
    `rank` channels, B and C. `normed`: these three are, with weights where the file has some.
    """

    inner: int
    size: int
    rank: int
    kernel: int
    normed: bool


@dataclass(frozen=True)
class TimeMix(Module):
    """Linear attention with a decay for each key channel, over inputs mixed with the token before (arXiv 2404.05892).

    `heads` of `dim` channels share `key_heads`. `mix_rank` and `decay_rank` are those of what each token chooses.
    `bonus`: queries read the state before their own token, and that by weights of its own; the result is normed head
    by head. `shifts`: blocks of a layer that read the token before.
    """

    heads: int
    key_heads: int
    dim: int
    mix_rank: int
    decay_rank: int
    bonus: bool = False
    shifts: int = 1


@dataclass(frozen=True)
class ReplacingMix(Module):
    """Linear attention that replaces what a key stood for, over inputs mixed with the token before (arXiv 2503.14456).

    `heads` of `dim` channels. The ranks are those of what each token chooses: how much of each key channel fades, how
    much of it is replaced, how much of the first layer's values joins in, and a gate, 0 where there is none.
    `normed`: the result is, head by head. `shifts`: blocks of a layer that read the token before.
    """

    heads: int
    dim: int
    decay_rank: int
    rate_rank: int
    value_rank: int
    gate_rank: int
    normed: bool = True
    shifts: int = 1


@dataclass(frozen=True)
class ChannelMix(Module):
    """A feed-forward over inputs mixed with the token before, the second block of its layer that reads it.

    `gated`: the result is multiplied by a sigmoid.
    """

    width: int
    gated: bool = True
