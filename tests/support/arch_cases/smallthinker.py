"""SmallThinker."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, TIED

KEYS = {
    "expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 256, "expert_gating_func": 2,
    "block_count": 5, "attention.sliding_window": 4096,
}  # fmt: skip
CASES = {
    "usual": Case("smallthinker", keys=KEYS, values=SPREAD, drop=BIASES),
    "softmax, no window, tied": Case(
        "smallthinker",
        keys={**KEYS, **LINEAR, "expert_gating_func": 1, "attention.sliding_window": None, "block_count": 3},
        values=SPREAD,
        drop=[TIED, *BIASES],
    ),
    "softmax of chosen, biases, all of four layers turn": Case(
        "smallthinker",
        keys={**KEYS, "block_count": 4, "expert_gating_func": 3, "expert_used_count": 5, "rope.freq_base_swa": 500.0},
        values=SPREAD,
    ),
    "every second layer global, one of many": Case(
        "smallthinker",
        keys={**KEYS, "attention.sliding_window_pattern": 2, "rope.freq_base_swa": 500.0, "expert_count": 18,
              "expert_used_count": 1},
        values=SPREAD,
        drop=BIASES,
    ),
}  # fmt: skip
