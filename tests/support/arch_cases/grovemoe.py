"""GroveMoE."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, TIED, WIDE

KEYS = {
    "expert_count": 14, "expert_used_count": 3, "expert_feed_forward_length": 128, "experts_per_group": 2,
    "expert_group_scale": 0.7, "expert_chunk_feed_forward_length": 96,
}  # fmt: skip
CASES = {
    "usual": Case("grovemoe", keys=KEYS, values=SPREAD, drop=BIASES),
    "widths by rule, groups of three, tied": Case(
        "grovemoe",
        keys={
            **KEYS, **WIDE, **LINEAR, "expert_count": 12, "experts_per_group": 3, "expert_used_count": 4,
            "expert_feed_forward_length": 0, "expert_chunk_feed_forward_length": None, "expert_weights_scale": 2.0,
        },
        values=SPREAD,
        drop=(TIED, *BIASES),
    ),
    "no groups, biases, unused scales": Case(
        "grovemoe",
        keys={**KEYS, "experts_per_group": 1, "expert_count": 5, "expert_gating_func": 2},
        values=SPREAD,
        keep=r"\.scale$",
    ),
}  # fmt: skip
