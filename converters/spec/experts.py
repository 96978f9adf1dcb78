"""Mixtures of experts: feed-forwards of which each token takes a few."""

from dataclasses import dataclass

from converters.spec.layer import Module
from converters.spec.mlp import ClampedSwiglu, Mlp

SOFTMAX, SIGMOID, SOFTMAX_OF_CHOSEN = "softmax", "sigmoid", "softmax_of_chosen"


@dataclass(frozen=True)
class Router:
    """Which experts a token takes, and what their results are multiplied with.

    `scores` of the router's products: "softmax", "sigmoid", or "softmax_of_chosen", where the products themselves
    choose. A tensor exp_probs_b is added to the scores for the choice only. `normalize`: the weights of a token are
    divided by their sum; `scale` multiplies them. Of `groups` groups of experts, the `used_groups` with the largest
    sums of two scores are open.
    """

    scores: str = SOFTMAX
    normalize: bool = False
    scale: float = 1.0
    groups: int = 1
    used_groups: int = 1


@dataclass(frozen=True)
class Experts(Module):
    """`used` of `count` feed-forwards of `width` channels for each token, and one that all tokens take.

    `activation` as in Mlp; `gate`: "separate", "fused" (one tensor, whose first half of rows it is) or "none".
    `weighs_inputs`: a token's weights multiply what the experts read instead of their results. `shared_gate`: the
    sigmoid of a product multiplies the result of the shared feed-forward. `latent`: channels that experts read and
    write between two products that all share, 0 where these are those of the stream.
    """

    count: int
    used: int
    width: int
    activation: str | ClampedSwiglu
    router: Router
    gate: str = "separate"
    weighs_inputs: bool = False
    shared: Mlp | None = None
    shared_gate: bool = False
    latent: int = 0

    def channels(self, hidden: int) -> int:
        """That an expert reads and writes, in a model with `hidden` channels."""
        return self.latent or hidden
