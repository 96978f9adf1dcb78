"""Rotary embeddings in the words of transformers, version 5 (`rope_parameters`) and before it (`rope_theta`, ...)."""

import math
from typing import Any

import numpy as np

from converters.archs.hugging_face import GLOBAL, LOCAL, HuggingFace
from converters.blocks.rope import inverse_frequencies, magnitude
from converters.plan import Plan
from converters.spec import Attention, ContextFactors, LatentAttention, LinearScaling, Rope, YarnScaling


def rope_values(plan: Plan, named: HuggingFace) -> dict[str, Any]:
    """All keys about rotary embeddings; none for a model without one."""
    local, whole = _ropes(plan)
    main = whole or local
    if main is None:
        return {}
    share = _share(plan, main)
    written = {key: _parameters(plan, rope, named, share) for key, rope in ((LOCAL, local), (GLOBAL, main)) if rope}
    values: dict[str, Any] = {"rope_theta": main.theta}
    if named.partial or share != 1.0:
        values["partial_rotary_factor"] = share
    scaling = {k: v for k, v in written[GLOBAL].items() if k not in ("rope_theta", "partial_rotary_factor")}
    if scaling["rope_type"] in named.scalings:
        values["rope_scaling"] = scaling
    if not named.rope_by_layer_type:
        return {**values, "rope_parameters": written[GLOBAL]}
    if local is not None:
        values["rope_local_base_freq"] = local.theta
    return {**values, "rope_parameters": written}


def _ropes(plan: Plan) -> tuple[Rope | None, Rope | None]:
    """Of the first layer with a window that turns anything, and of the first one without a window."""
    found: dict[bool, Rope] = {}
    for mixer in plan.spec.modules():
        if isinstance(mixer, (Attention, LatentAttention)) and mixer.rope is not None:
            found.setdefault(mixer.window is not None, mixer.rope)
    return found.get(True), found.get(False)


def _share(plan: Plan, rope: Rope) -> float:
    """Which part of a head turns, so that head size * part, rounded down, is the number of channels."""
    mixer = plan.spec.attention
    size = rope.dim if mixer is None or isinstance(mixer, LatentAttention) else mixer.head_dim
    share = rope.dim / size
    return share if int(size * share) == rope.dim else math.nextafter(share, 2.0)


def _parameters(plan: Plan, rope: Rope, named: HuggingFace, share: float) -> dict[str, Any]:
    """One rotary embedding: by its scaling's name where the class knows it, else by divisors of the frequencies."""
    common: dict[str, Any] = {"rope_theta": rope.theta, **named.rope_values}
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
    names = rope.factors if isinstance(rope.factors, ContextFactors) else None
    return {
        **common,
        "rope_type": "longrope",
        "short_factor": _divisors(plan, rope, names.short if names else rope.factors),
        "long_factor": _divisors(plan, rope, names.long if names else rope.factors),
        "original_max_position_embeddings": names.original_context if names else plan.context_length,
        "factor": 1.0,  # read only where there is no attention_factor
        "attention_factor": magnitude(rope),
    }


def _divisors(plan: Plan, rope: Rope, factors: Any) -> list[float]:
    """Of the unscaled frequencies, one per pair of channels; `factors` names the tensor that has a part of them."""
    plain = inverse_frequencies(Rope(rope.theta, rope.dim), None)
    scaled = inverse_frequencies(rope, None if factors is None else plan.source.floats(factors))
    return [float(np.float32(divisor)) for divisor in plain / scaled]
