"""Arctic."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, TIED

KEYS = {"expert_count": 7, "expert_used_count": 3}
CASES = {
    "usual": Case("arctic", keys=KEYS, values=SPREAD, drop=BIASES),
    "narrow experts, one key head, linear, unread keys, tied": Case(
        "arctic",
        keys={
            **KEYS, **LINEAR, "feed_forward_length": 96, "attention.head_count_kv": 1, "expert_weights_scale": 2.0,
            "expert_feed_forward_length": 160, "expert_gating_func": 2, "block_count": 3,
        },
        values=SPREAD,
        drop=(TIED, *BIASES),
    ),
    "biases, scales, one of many": Case(
        "arctic", keys={**KEYS, "expert_count": 17, "expert_used_count": 1}, values=SPREAD, keep=r"\.scale$"
    ),
}  # fmt: skip
