"""Mechanisms that mix tokens by a state of fixed size."""

from dataclasses import dataclass

from converters.spec.layer import Module


@dataclass(frozen=True)
class GatedDeltaNet(Module):
    """Linear attention by the gated delta rule (arXiv 2412.06464) behind a short convolution (Qwen 3.5, Qwen 3 Next).

    `heads` value heads of `value_dim` channels share `key_heads` of `dim`: head h reads key head h % key_heads if
    `tiled`, else h // (heads / key_heads). `kernel` is the length of the convolution.
    """

    heads: int
    key_heads: int
    dim: int
    value_dim: int
    kernel: int
    tiled: bool

    @property
    def channels(self) -> int:
        """What the convolution reads: q, k and v."""
        return 2 * self.key_heads * self.dim + self.heads * self.value_dim


@dataclass(frozen=True)
class GatedShortConv(Module):
    """A convolution over the last `kernel` tokens, channel by channel, whose input and output are gated (LFM 2)."""

    kernel: int
