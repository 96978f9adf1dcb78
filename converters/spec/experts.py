"""Mixtures of experts: feed-forwards of which each token takes a few."""

from dataclasses import dataclass
from typing import ClassVar

from converters.spec.layer import Module
from converters.spec.mlp import ClampedSwiglu, LimitedSwiglu, Mlp

SOFTMAX, SIGMOID = "softmax", "sigmoid"
SOFTMAX_OF_CHOSEN, SIGMOID_OF_CHOSEN = "softmax_of_chosen", "sigmoid_of_chosen"


@dataclass(frozen=True)
class Router:
    """Which experts a token takes, and what their results are multiplied with.

    `scores` of the router's products: "softmax", "sigmoid", or "softmax_of_chosen" and "sigmoid_of_chosen", where the
    products themselves choose. A tensor exp_probs_b is added to the scores for the choice only. `normalize`: the
    weights of a token are divided by their sum; `scale` multiplies them. Of `groups` groups of experts, the
    `used_groups` with the largest sums of two scores are open. `reads_layer_input`: the router reads that as it is, in
    place of what the experts read.
    """

    scores: str = SOFTMAX
    normalize: bool = False
    scale: float = 1.0
    groups: int = 1
    used_groups: int = 1
    reads_layer_input: bool = False


@dataclass(frozen=True)
class Experts(Module):
    """`used` of `count` feed-forwards of `width` channels for each token, and one that all tokens take.

    `activation` as in Mlp; `gate`: "separate", "fused" (one tensor, whose first half of rows it is) or "none".
    `weighs_inputs`: a token's weights multiply what the experts read instead of their results. `shared_gate`: the
    sigmoid of a product multiplies the result of the shared feed-forward, whose tensors' names end in `shared_suffix`.
    `latent`: channels that experts read and write between two products that all share, 0 where these are those of the
    stream. `sum_scale` multiplies the sum of both. `suffix`: what the experts' names end in.
    """

    count: int
    used: int
    width: int
    activation: str | ClampedSwiglu | LimitedSwiglu
    router: Router
    gate: str = "separate"
    weighs_inputs: bool = False
    shared: Mlp | None = None
    shared_gate: bool = False
    latent: int = 0
    shared_suffix: str = "_shexp"
    sum_scale: float = 1.0
    suffix: str = "_exps"

    def channels(self, hidden: int) -> int:
        """That an expert reads and writes, in a model with `hidden` channels."""
        return self.latent or hidden


@dataclass(frozen=True)
class GroveExperts(Module):
    """Experts, and narrower ones that `group` neighbours of them share (arXiv 2508.07785), as llama.cpp runs them.

    A token takes those of its experts' groups, one for each expert. They read what the experts made; the weight of one
    is the score of the expert that has its number, and `scale` multiplies what they add.
    """

    experts: Experts
    shared: Experts
    group: int
    scale: float


@dataclass(frozen=True)
class DenseAndExperts(Module):
    """A feed-forward and experts side by side, with norms of their own before and behind each; the sum (Gemma 4).

    Both read the residual stream. So does the router: its norm times the tensor ffn_gate_inp.scale, divided by the root
    of the number of channels.
    """

    wide: ClassVar[bool] = True

    dense: Mlp
    experts: Experts

    def parts(self) -> tuple[Module, ...]:
        """Itself and both."""
        return (self, self.dense, self.experts)
