"""Ministral 3, Arcee, SmolLM 3 and ERNIE 4.5; and the variants that models with Llama's tensors have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.any_arch import Case
from tests.support.arch_cases.llama import LONGROPE, factors

# A third block that predicts a further token in training: it must be named as unused.
NEXT_TOKEN: dict[str, Any] = {
    "keys": {"block_count": 3},
    "untold_keys": {"nextn_predict_layers": 1},
    "untold_tensors": {
        "blk.2.nextn.eh_proj.weight": (256, 512),
        **{f"blk.2.nextn.{name}.weight": (256,) for name in ("enorm", "hnorm", "shared_head_norm")},
    },
}
BIASES = (r"\.bias$",)
WIDE = {"attention.key_length": 96, "attention.value_length": 96}  # q is wider than the embedding
LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 3.0, "rope.freq_base": 500.0}
YARN = {
    "rope.scaling.type": "yarn", "rope.scaling.factor": 8.0, "rope.scaling.original_context_length": 32,
    "rope.scaling.attn_factor": 0.8,
}  # fmt: skip
TUNED = {
    "rope.scaling.yarn_beta_fast": 2.0, "rope.scaling.yarn_beta_slow": 0.2, "rope.scaling.yarn_log_multiplier": 0.7,
}  # fmt: skip
UNREAD = {"attention.sliding_window": 8, "attention.sliding_window_pattern": 2, "attention.scale": 0.3}
FREQS: dict[str, Any] = {"keep": "rope_freqs", "values": {"rope_freqs": factors}}


def llama_like(
    arch: str,
    *,
    norm: str = "rms",
    tied: bool = True,
    wide: bool = True,
    freqs: bool = False,
    drop: Sequence[str] = BIASES,
    keys: Mapping[str, Any] | None = None,
) -> dict[str, Case]:
    """What llama.cpp lets vary in such a model; without the biases `drop` where these are not what varies.

    tied: the head may be. wide: heads need not fill the embedding. freqs: rope_freqs is honoured.
    """
    variants: dict[str, dict[str, Any]] = {
        "usual": {"drop": drop},
        "fused q, k, v": {"fused": True},
        "one key head, linear": {"keys": {"attention.head_count_kv": 1, **LINEAR}, "drop": drop},
        "as many key heads, tuning of yarn unread": {"keys": {"attention.head_count_kv": None, **YARN, **TUNED}},
        "small heads, scaling none": {
            "keys": {"attention.head_count": 16, "attention.head_count_kv": 4, **LINEAR, "rope.scaling.type": "none"}
        },
    }
    if drop:
        variants["biases"] = {}
    if tied:
        variants["tied"] = {"drop": (r"^output\.weight", *drop)}
    if wide:
        variants["wide heads"] = {"keys": WIDE, "drop": drop}
    if freqs:
        variants["frequency factors"] = {"drop": drop, **FREQS}
    return {
        f"{arch} {name}": Case(arch, norm, **{**options, "keys": {**(keys or {}), **options.get("keys", {})}})
        for name, options in variants.items()
    }


SHARPER = {"attention.temperature_scale": 0.6, "rope.scaling.original_context_length": 8}
FIVE_LAYERS = {"block_count": 5}  # the fourth of which has no positions
CASES = {
    **llama_like("mistral3", freqs=True),
    "mistral3 queries sharpen": Case("mistral3", keys=SHARPER),
    "mistral3 queries flatten, fused": Case(
        "mistral3", keys={**SHARPER, "attention.temperature_scale": -0.2}, fused=True
    ),
    "mistral3 neutral and unread keys": Case("mistral3", keys={**UNREAD, "attention.temperature_scale": 0.0}),
    "mistral3 yarn untuned": Case("mistral3", drop=BIASES, keys={**YARN, "attention.temperature_scale": 0.6}),
    "mistral3 full log multiplier": Case("mistral3", keys={**YARN, "rope.scaling.yarn_log_multiplier": 1.0}),
    "mistral3 factors and yarn": Case("mistral3", keys=YARN, **FREQS),
    "mistral3 long factors": Case(
        "mistral3", keys=LONGROPE, keep="rope_factors", values={"rope_factors": factors}, context=512
    ),
    **llama_like("arcee", freqs=True),
    "arcee unread keys": Case("arcee", keys=UNREAD),
    **llama_like("smollm3", keys=FIVE_LAYERS),
    "smollm3 unread keys": Case("smollm3", keys={**FIVE_LAYERS, **UNREAD}),
    **llama_like("ernie4_5"),
    "ernie4_5 unread keys": Case("ernie4_5", keys={**UNREAD, "rope.dimension_sections": [16, 8, 8, 0]}),
}
