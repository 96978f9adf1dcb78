"""Rotary embeddings in the words of transformers, version 5 (`rope_parameters`) and before it (`rope_theta`, ...)."""

import math
from typing import Any

import numpy as np

from converters.archs.hugging_face import GLOBAL, LOCAL, HuggingFace
from converters.blocks.rope import inverse_frequencies, magnitude
from converters.plan import Plan
from converters.spec import Attention, ContextFactors, LatentAttention, LinearScaling, Rope, YarnScaling

DIVISORS = "longrope"  # the kind that takes divisors of the frequencies as lists
STILL = 1e20  # divisors of frequencies above this leave a pair unturned in any context


def rope_values(plan: Plan, named: HuggingFace) -> dict[str, Any]:
    """All keys about rotary embeddings; none for a model without one."""
    local, whole = _ropes(plan)
    main = whole or local
    if main is None:
        return {}
    written = {key: _parameters(plan, rope, named) for key, rope in ((LOCAL, local), (GLOBAL, main)) if rope}
    values: dict[str, Any] = {"rope_theta": main.theta}
    if "partial_rotary_factor" in written[GLOBAL]:
        values["partial_rotary_factor"] = written[GLOBAL]["partial_rotary_factor"]
    scaling = {k: v for k, v in written[GLOBAL].items() if k not in ("rope_theta", "partial_rotary_factor")}
    if scaling["rope_type"] in named.scalings:
        values["rope_scaling"] = scaling
    if not named.rope_by_layer_type:
        return {**values, "rope_parameters": written[GLOBAL]}
    if local is not None:
        values["rope_local_base_freq"] = local.theta
    return {**values, "rope_parameters": written}


def has_words(plan: Plan, named: HuggingFace) -> bool:
    """Whether the class can be told of all rotary embeddings."""
    ropes = [rope for rope in _ropes(plan) if rope is not None]
    return named.rope_divisors or all(_parameters(plan, rope, named)["rope_type"] != DIVISORS for rope in ropes)


def _ropes(plan: Plan) -> tuple[Rope | None, Rope | None]:
    """Of the first layer with a window that turns anything, and of the first one without a window."""
    found: dict[bool, Rope] = {}
    for mixer in plan.spec.modules():
        if isinstance(mixer, (Attention, LatentAttention)) and mixer.rope is not None:
            found.setdefault(mixer.window is not None, mixer.rope)
    return found.get(True), found.get(False)


def _share(plan: Plan, rope: Rope) -> float:
    """Which part of a head turns, so that head size * part, rounded down, is the number of channels."""
    mixers = (mixer for mixer in plan.spec.modules() if isinstance(mixer, Attention))
    size = next((mixer.head_dim for mixer in mixers if mixer.rope == rope), rope.dim)
    share = rope.dim / size
    return share if int(size * share) == rope.dim else math.nextafter(share, 2.0)


def _parameters(plan: Plan, rope: Rope, named: HuggingFace) -> dict[str, Any]:
    """One rotary embedding: by its scaling's name where the class knows it, else by divisors of the frequencies."""
    common: dict[str, Any] = {"rope_theta": rope.theta, **named.rope_values}
    share = _share(plan, rope)
    if named.partial or share != 1.0:
        common["partial_rotary_factor"] = share
    scaling, plain = rope.scaling, rope.factors is None and rope.magnitude == 1.0
    if scaling is None and plain:
        return {"rope_type": "default", **common}
    if isinstance(scaling, LinearScaling) and plain and "linear" in named.scalings:
        return {"rope_type": "linear", "factor": scaling.factor, **common}
    if isinstance(scaling, YarnScaling) and rope.factors is None and "yarn" in named.scalings:
        return {
            **common,
            "rope_type": "yarn",
            "factor": scaling.factor,
            "original_max_position_embeddings": scaling.original_context,
            "beta_fast": scaling.beta_fast,
            "beta_slow": scaling.beta_slow,
            "attention_factor": magnitude(rope),
        }
    if "proportional" in named.scalings and (part := _proportion(plan, rope)) is not None:
        stretched = {"factor": scaling.factor} if isinstance(scaling, LinearScaling) else {}
        return {"rope_type": "proportional", **common, "partial_rotary_factor": part, **stretched}
    names = rope.factors if isinstance(rope.factors, ContextFactors) else None
    return {
        **common,
        "rope_type": DIVISORS,
        "short_factor": _divisors(plan, rope, names.short if names else rope.factors),
        "long_factor": _divisors(plan, rope, names.long if names else rope.factors),
        "original_max_position_embeddings": names.original_context if names else plan.context_length,
        "factor": 1.0,  # read only where there is no attention_factor
        "attention_factor": magnitude(rope),
    }


def _proportion(plan: Plan, rope: Rope) -> float | None:
    """Which part of the pairs turns, where divisors of the frequencies let the first ones turn and no others."""
    if not isinstance(rope.factors, str) or rope.magnitude != 1.0 or isinstance(rope.scaling, YarnScaling):
        return None
    factors = plan.source.floats(rope.factors)
    turned = int((factors == 1.0).sum())
    return turned / len(factors) if (factors[:turned] == 1.0).all() and (factors[turned:] > STILL).all() else None


def _divisors(plan: Plan, rope: Rope, factors: Any) -> list[float]:
    """Of the unscaled frequencies, one per pair of channels; `factors` names the tensor that has a part of them."""
    plain = inverse_frequencies(Rope(rope.theta, rope.dim), None)
    scaled = inverse_frequencies(rope, None if factors is None else plan.source.floats(factors))
    return [float(np.float32(divisor)) for divisor in plain / scaled]
