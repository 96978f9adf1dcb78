"""DBRX."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import LINEAR

KEYS = {"expert_count": 7, "expert_used_count": 3, "attention.clamp_kqv": 0.8}
CASES = {
    "usual": Case("dbrx", "layer", KEYS, values=SPREAD),
    "not clipped, one key head, linear, unread keys": Case(
        "dbrx",
        "layer",
        {
            **KEYS, **LINEAR, "attention.clamp_kqv": 0.0, "attention.head_count_kv": 1, "expert_weights_scale": 2.0,
            "expert_feed_forward_length": 96, "expert_gating_func": 2,
        },
        values=SPREAD,
    ),
    "scales, one of many": Case(
        "dbrx", "layer", {**KEYS, "expert_count": 17, "expert_used_count": 1}, values=SPREAD, keep=r"\.scale$"
    ),
}  # fmt: skip
