"""What operators of recurrent layers read."""

from dataclasses import dataclass

from converters.graph.graph import Value


@dataclass(frozen=True)
class ConvolutionInputs:
    """What a convolution over the last `kernel` tokens reads: x [batch, sequence, channels], and its length, int64 [1].

    weight [channels, kernel] and bias [channels], in the type of x. `silu` is what follows.
    """

    x: Value
    weight: Value
    bias: Value | None
    length: Value
    kernel: int
    silu: bool


@dataclass(frozen=True)
class RateInputs:
    """What makes a gated delta rule's rates, float32: alpha and beta [batch, sequence, heads], bias and rate [heads].

    Where there is no token, alpha and beta are so far below zero that nothing is left of them.
    """

    alpha: Value
    beta: Value
    bias: Value
    rate: Value


@dataclass(frozen=True)
class DeltaInputs:
    """What a gated delta rule reads: q, k [batch, sequence, groups * dim], v [.., heads * value_dim], in one type.

    decay, the logarithm of what stays of the state, and beta, the share of the error that is learned: float32 [batch,
    sequence, heads]; both 0 where there is no token. `scale` is that of the result. `keyed`: each key channel has a
    decay, as q; there are as many groups as heads, and all is float32.
    """

    q: Value
    k: Value
    v: Value
    decay: Value
    beta: Value
    heads: int
    groups: int
    dim: int
    value_dim: int
    scale: float = 1.0
    keyed: bool = False


@dataclass(frozen=True)
class ReplaceInputs:
    """What a delta rule reads whose keys to forget and to learn differ, float32, each [batch, sequence, heads * dim].

    decay and rate are logarithms, of what stays of each key channel, and of the share of `old`'s value that is taken
    from it; none is positive. Where there is no token, old, k and these are 0. real: 1 for a token, else 0, [.., 1].
    """

    q: Value
    k: Value
    v: Value
    decay: Value
    old: Value
    rate: Value
    real: Value
    heads: int
    dim: int


@dataclass(frozen=True)
class ScanInputs:
    """What a gated scan reads, float32: q, k [batch, sequence, groups * dim], v [.., heads * value_dim].

    decay, the logarithm of what stays of the state: [batch, sequence, heads]; it and v are 0 where there is no token.
    `scale` is that of the result.
    """

    q: Value
    k: Value
    v: Value
    decay: Value
    heads: int
    groups: int
    dim: int
    value_dim: int
    scale: float = 1.0


@dataclass(frozen=True)
class SelectiveInputs:
    """What a selective scan reads, float32: x and step [batch, sequence, channels], k and q [.., size].

    rate, the logarithm of what stays for a step of 1: [channels, size]. step is 0 where there is no token.
    """

    x: Value
    step: Value
    k: Value
    q: Value
    rate: Value
    channels: int
    size: int


@dataclass(frozen=True)
class KeyedInputs:
    """What linear attention reads, float32, each [batch, sequence, heads * dim].

    decay is the logarithm of what stays of each key channel; it and k are 0 where there is no token.
    """

    q: Value
    k: Value
    v: Value
    decay: Value
    heads: int
    dim: int
