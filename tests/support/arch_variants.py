"""Keys, patterns, values and whole variants that the cases of several architectures have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.any_arch import Case

Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def factors(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Divisors of rotary frequencies, far from 1."""
    return rng.uniform(1, 8, shape)


# Tensors to leave out.
BIASES = (r"\.bias$",)
QKV_BIASES = r"attn_(q|k|v|qkv)\.bias"
TIED = r"^output\.weight"

# Heads.
EACH = {"attention.head_count_kv": 4}
ONE = {"attention.head_count_kv": 1}
SIX = {"embedding_length": 192, "attention.head_count": 6, "attention.head_count_kv": 2}
WIDE = {"attention.key_length": 96, "attention.value_length": 96}  # q is wider than the embedding

# Rotary embedding. YaRN's ramp lies where 48 tokens turn far enough to show either end of it.
LINEAR = {"rope.scaling.type": "linear", "rope.scaling.factor": 3.0, "rope.freq_base": 500.0}
YARN = {
    "rope.scaling.type": "yarn", "rope.scaling.factor": 2.0, "rope.scaling.original_context_length": 512,
    "rope.scaling.attn_factor": 0.8, "rope.freq_base": 500.0,
}  # fmt: skip
TUNED = {
    "rope.scaling.yarn_beta_fast": 2.0, "rope.scaling.yarn_beta_slow": 0.2, "rope.scaling.yarn_log_multiplier": 0.7,
}  # fmt: skip
LONGROPE = {
    "rope.scaling.type": "longrope", "rope.scaling.original_context_length": 256, "rope.scaling.attn_factor": 1.2,
    "context_length": 1024,
}  # fmt: skip
FREQS: dict[str, Any] = {"keep": "rope_freqs", "values": {"rope_freqs": factors}}
FACTORS: dict[str, Any] = {"keep": "rope_factors", "values": {"rope_factors": factors}}

# For architectures that do not read them.
WINDOW = {"attention.sliding_window": 8, "attention.sliding_window_pattern": 2}
UNREAD = {**WINDOW, "attention.scale": 0.3}

# MiniCPM's and Granite's multipliers.
SCALED = {"embedding_scale": 5.0, "residual_scale": 0.4, "logit_scale": 1.5}

# A third block that predicts a further token in training: it must be named as unused.
NEXT_TOKEN: dict[str, Any] = {
    "keys": {"block_count": 3},
    "untold_keys": {"nextn_predict_layers": 1},
    "untold_tensors": {
        "blk.2.nextn.eh_proj.weight": (256, 512),
        **{f"blk.2.nextn.{name}.weight": (256,) for name in ("enorm", "hnorm", "shared_head_norm")},
    },
}


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
        variants["tied"] = {"drop": (TIED, *drop)}
    if wide:
        variants["wide heads"] = {"keys": WIDE, "drop": drop}
    if freqs:
        variants["frequency factors"] = {"drop": drop, **FREQS}
    return {
        f"{arch} {name}": Case(arch, norm, **{**options, "keys": {**(keys or {}), **options.get("keys", {})}})
        for name, options in variants.items()
    }
