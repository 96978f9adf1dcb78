"""Mixtures as DeepSeek began them: experts that all tokens take, behind a few layers that have none."""

from collections.abc import Callable
from typing import Any

from converters.archs.common import gated_mlp, layer_count
from converters.archs.experts import experts, shared_expert
from converters.archs.hparams import Hparams
from converters.spec import SIGMOID, SOFTMAX, SOFTMAX_OF_CHOSEN, Experts, Module
from repack.errors import MobiusError

SCORES = {1: SOFTMAX, 2: SIGMOID, 3: SOFTMAX_OF_CHOSEN}
MIXTURE_KEYS = (
    "expert_count", "expert_used_count", "expert_group_count", "expert_group_used_count", "expert_feed_forward_length",
    "expert_shared_count", "expert_weights_scale",
)  # fmt: skip
SHARED_SCALES = tuple(f"blk.*.ffn_{part}_shexp.scale" for part in ("gate", "up", "down"))  # loaded, and of no use


def scores(h: Hparams, default: str | None = None) -> str:
    """What `expert_gating_func` names; `default` where the file does not say.

    Raises:
        MobiusError: it names none that is known, or the architecture has no default.
    """
    given = h.integer("expert_gating_func", 0)
    if given == 0 and default is not None:
        return default
    if given not in SCORES:
        raise MobiusError(f"{h.architecture}.expert_gating_func is {given}", f"supported: {sorted(SCORES)}")
    return SCORES[given]


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
    lead = h.integer("leading_dense_block_count", 0)
    if lead >= layer_count(h):
        for key in MIXTURE_KEYS:
            h.raw(key)
        return lambda layer: gated_mlp(h, layer=layer)
    behind = mixture(h, lead, **choices)
    return lambda layer: gated_mlp(h, layer=layer) if layer < lead else behind
