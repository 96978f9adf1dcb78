"""Gemma 1 and 2."""

from typing import Any

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, LINEAR, TUNED, UNREAD, WIDE, YARN, Values

UNREAD_CAPS = {"attn_logit_softcapping": 0.5, "final_logit_softcapping": 0.5}
BITING = {
    "block_count": 3, "attention.sliding_window": 12, "attn_logit_softcapping": 1.5, "final_logit_softcapping": 1.2,
    "attention.layer_norm_rms_epsilon": 0.5,  # matters behind large embeddings
}  # fmt: skip
NO_KEYS: dict[str, Any] = {"attention.sliding_window": None, "attn_logit_softcapping": None,
                           "final_logit_softcapping": None}  # fmt: skip
THIN = {
    "embedding_length": 64, "feed_forward_length": 64, "attention.head_count": 2, "attention.head_count_kv": 1,
}  # fmt: skip


def large(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Norm weights that make caps of 50 and 30 visible."""
    return rng.uniform(4, 7, shape)


def small(rng: np.random.Generator, shape: tuple[int, ...]) -> Values:
    """Norm weights that hide how inexact ggml's GELU is."""
    return rng.uniform(0.002, 0.004, shape)


def gelu_case(arch: str, keys: dict[str, Any], **options: Any) -> Case:
    """A GELU-gated model."""
    return Case(arch, keys=keys, gelu=True, **options)


CASES = {
    "gemma usual": gelu_case("gemma", {}, drop=BIASES),
    "gemma wide heads, one key head": gelu_case("gemma", {**WIDE, "attention.head_count_kv": 1}, drop=BIASES),
    "gemma narrow heads, biases": gelu_case("gemma", {"attention.key_length": 32, "attention.value_length": 32}),
    "gemma fused, linear": gelu_case("gemma", LINEAR, fused=True),
    "gemma partial, yarn": gelu_case("gemma", {**YARN, **TUNED, "rope.dimension_count": 32}, drop=BIASES),
    "gemma unread keys": gelu_case("gemma", {**UNREAD, **UNREAD_CAPS}, drop=BIASES),
    "gemma2 usual": gelu_case("gemma2", BITING, drop=BIASES),
    "gemma2 biases": gelu_case("gemma2", BITING),
    "gemma2 every third": gelu_case("gemma2", {**BITING, "attention.sliding_window_pattern": 3}, fused=True),
    "gemma2 flags": gelu_case("gemma2", {**BITING, "attention.sliding_window_pattern": [False, False, True]}),
    "gemma2 wide heads": gelu_case("gemma2", {**BITING, **WIDE, "attention.head_count_kv": 1}, drop=BIASES),
    "gemma2 linear, local base": gelu_case("gemma2", {**BITING, **LINEAR, "rope.freq_base_swa": 90.0}, drop=BIASES),
    "gemma2 one base": gelu_case("gemma2", {**BITING, "rope.freq_base": 300.0}, drop=BIASES),
    "gemma2 yarn, partial": gelu_case("gemma2", {**BITING, **YARN, "rope.dimension_count": 32}, drop=BIASES),
    "gemma2 caps by default, unread scale": gelu_case(
        "gemma2",
        {**BITING, **NO_KEYS, "attention.scale": 0.3, "attention.layer_norm_rms_epsilon": 0.01},
        drop=BIASES,
        values={r"blk\.\d\.attn_norm": large, "output_norm": large, "post_ffw_norm": small},
    ),
    "gemma2 window by default": gelu_case(
        "gemma2",
        {
            **BITING,
            **THIN,
            "attention.head_count": 1,
            "attention.sliding_window": None,
            "block_count": 1,
            "context_length": 4352,
        },
        drop=BIASES,
        length=4200,
        context=4352,
    ),
    "gemma2 of 27B": gelu_case(
        "gemma2",
        {**BITING, **THIN, "block_count": 46, "attention.key_length": 16, "attention.value_length": 16},
        drop=BIASES,
    ),
}
