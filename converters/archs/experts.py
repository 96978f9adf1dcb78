"""What mixtures of experts share when their numbers are read."""

from typing import Any

from converters.archs.hparams import Hparams
from converters.spec import SIGMOID, SOFTMAX, SOFTMAX_OF_CHOSEN, ClampedSwiglu, Experts, LimitedSwiglu, Mlp, Router
from repack.errors import MobiusError

# Second-level scales that llama.cpp loads for every mixture and uses for few.
EXPERT_SCALES = tuple(f"blk.*.ffn_{part}_exps.scale" for part in ("gate", "up", "gate_up", "down"))
SHARED_SCALES = tuple(f"blk.*.ffn_{part}_shexp.scale" for part in ("gate", "up", "down"))
SCORES = {1: SOFTMAX, 2: SIGMOID, 3: SOFTMAX_OF_CHOSEN}  # by the numbers of expert_gating_func
# Keys that writers of files may add to any mixture, for architectures that imply what they say.
IMPLIED = ("expert_gating_func", "expert_weights_norm", "expert_weights_scale", "expert_shared_count")


def has_experts(h: Hparams) -> bool:
    """Whether the file says that its feed-forwards are experts; one alone counts as none."""
    return h.integer("expert_count", 0) > 1


def experts(
    h: Hparams,
    width: int,
    activation: str | ClampedSwiglu | LimitedSwiglu = "silu",
    *,
    layer: int = 0,
    scores: str = SOFTMAX,
    normalize: bool = False,
    scale: float = 1.0,
    reads_layer_input: bool = False,
    **choices: Any,
) -> Experts:
    """`expert_used_count` of `expert_count` experts; `choices` are fields of Experts.

    `layer` is one that has them, whose tensors tell how gate and up are stored.
    """
    _check_stacks(h, layer)
    count, used = h.positive("expert_count"), h.positive("expert_used_count")
    groups, used_groups = h.integer("expert_group_count", 0), h.integer("expert_group_used_count", 0)
    fits = groups <= 1 or (count % groups == 0 and count // groups > 1 and 1 <= used_groups < groups)
    if used > count or not fits:
        raise MobiusError(
            f"{used} of {count} experts in {used_groups} of {groups} groups cannot be chosen", "the metadata is damaged"
        )
    if groups > 1 and used > used_groups * (count // groups):
        raise MobiusError(f"{used_groups} groups have fewer than {used} experts", "the metadata is damaged")
    router = Router(
        scores, normalize, scale or 1.0, max(1, groups), used_groups if groups > 1 else 1, reads_layer_input
    )
    return Experts(count, used, width, activation, router, _gate(h, layer), **choices)


def _check_stacks(h: Hparams, layer: int) -> None:
    """Refuse files of before April 2024, which have a matrix for each expert, as llama.cpp does."""
    old = f"blk.{layer}.ffn_down.0.weight"
    if h.has_tensor(old):
        raise MobiusError(
            f"the experts stand as matrices of their own ({old}): an old file, which llama.cpp does not read any more",
            "convert the model again with a llama.cpp of today",
        )


def _gate(h: Hparams, layer: int) -> str:
    if h.has_tensor(f"blk.{layer}.ffn_gate_up_exps.weight"):
        return "fused"
    return "separate" if h.has_tensor(f"blk.{layer}.ffn_gate_exps.weight") else "none"


def scores(h: Hparams, default: str | None = None) -> str:
    """How a router's products become scores: what the file's number names; `default` where it says none or 0.

    Raises:
        MobiusError: it names none that is known, or says nothing and there is no default.
    """
    key = "expert_gating_func"
    given = h.integer(key, None if default is None else 0)
    found = default if given == 0 and default is not None else SCORES.get(given)
    if found is None:
        raise MobiusError(f"{h.architecture}.{key} is {given}, not 1, 2 or 3", "the metadata is damaged or unusual")
    return found


def dense_layers(h: Hparams) -> int:
    """Layers before the first one with experts."""
    h.raw("feed_forward_length")  # of these, and there may be none
    return h.integer("leading_dense_block_count", 0)


def expert_width(h: Hparams) -> int:
    """Channels of an expert: the file's key, or what makes the experts of a token as wide as a dense feed-forward."""
    h.raw("feed_forward_length")  # of dense layers, and there may be none
    given = h.integer("expert_feed_forward_length", 0)
    return given or h.positive("feed_forward_length") // h.positive("expert_used_count")


def shared_expert(width: int, activation: str | LimitedSwiglu = "silu") -> Mlp:
    """The feed-forward beside the experts, with a gate."""
    return Mlp(width, activation)
