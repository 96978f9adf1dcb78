"""Feed-forward mechanisms and their activations."""

from dataclasses import dataclass

from converters.spec.layer import Module


@dataclass(frozen=True)
class Xielu:
    """xIELU (arXiv 2411.13010): x > 0: p x^2 + beta x; else (expm1(min(x, eps)) - x) n + beta x."""

    positive: float
    negative: float
    beta: float
    epsilon: float


@dataclass(frozen=True)
class ClampedSwiglu:
    """g sigmoid(alpha g) (u + 1), where the gate g is at most `limit` and u is within -limit and limit (gpt-oss)."""

    alpha: float
    limit: float


@dataclass(frozen=True)
class Mlp(Module):
    """down(activation(gate(x)) * up(x)), or down(activation(up(x))) without a gate.

    `activation`: "silu", "gelu_tanh", "relu", "relu_squared" or Xielu. `gate`: "separate", "fused" (the first half
    of ffn_up's rows) or "none". `sub_norm`: down's input is normed. `divisors`: down's input is divided by the
    tensor ffn.act.scales. `sparsity`: by how many standard deviations above their mean the gates of a token begin to
    open; they count from there, before the activation. None: all do, as they are.
    """

    width: int
    activation: str | Xielu
    gate: str = "separate"
    sub_norm: bool = False
    divisors: bool = False
    sparsity: float | None = None


@dataclass(frozen=True)
class Laurel(Module):
    """x + norm(laurel_r(laurel_l(x))) of `rank` channels between: a learned residual (LAuReL, arXiv 2411.07501)."""

    rank: int
