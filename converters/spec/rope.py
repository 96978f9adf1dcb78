"""Rotary embeddings."""

from dataclasses import dataclass


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
    itself does. `still` pairs do not turn. `factor_pairs`: how many the tensor has, of which the first ones serve.
    """

    theta: float
    dim: int
    interleaved: bool = False
    scaling: LinearScaling | YarnScaling | None = None
    factors: str | ContextFactors | None = None
    magnitude: float = 1.0
    still: tuple[int, ...] = ()
    factor_pairs: int | None = None
