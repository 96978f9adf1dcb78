"""Mixtures as DeepSeek began them: experts that all tokens take, behind a few layers that have none."""

from collections.abc import Callable
from typing import Any

from converters.archs.common import gated_mlp, layer_count
from converters.archs.experts import dense_layers, experts, shared_expert
from converters.archs.hparams import Hparams
from converters.spec import Experts, Module

MIXTURE_KEYS = (
    "expert_count", "expert_used_count", "expert_group_count", "expert_group_used_count", "expert_feed_forward_length",
    "expert_shared_count", "expert_weights_scale",
)  # fmt: skip


def mixture(h: Hparams, layer: int = 0, *, shared_width: int | None = None, **choices: Any) -> Experts:
    """Experts with shared ones beside them, by the tensors of a layer.

    `shared_width`: channels of one shared expert, as many as those of the others unless given. `choices` are fields
    of Router; the scale is the file's.
    """
    h.raw("feed_forward_length")  # of dense layers, and there may be none
    width, scale = h.positive("expert_feed_forward_length"), h.number("expert_weights_scale", 0.0)
    shared = shared_expert((shared_width or width) * h.positive("expert_shared_count"))
    return experts(h, width, layer=layer, shared=shared, scale=scale, **choices)


def dense_first(h: Hparams, **choices: Any) -> Callable[[int], Module]:
    """The feed-forward of each layer: of the first `leading_dense_block_count` ones a dense one, else a `mixture`."""
    lead = dense_layers(h)
    if lead >= layer_count(h):
        for key in MIXTURE_KEYS:
            h.raw(key)
        return lambda layer: gated_mlp(h, layer=layer)
    behind = mixture(h, lead, **choices)
    return lambda layer: gated_mlp(h, layer=layer) if layer < lead else behind
