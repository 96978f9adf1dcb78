"""Arcee's mixtures."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import LINEAR, TIED, WIDE

BIASES_OF_ATTENTION = r"attn_.*\.bias"
KEYS = {
    "block_count": 5, "attention.sliding_window": 8, "leading_dense_block_count": 1, "expert_count": 7,
    "expert_used_count": 3, "expert_feed_forward_length": 96, "expert_shared_count": 2, "expert_weights_norm": True,
    "expert_weights_scale": 2.5, "rope.freq_base_swa": 300.0,
}  # fmt: skip
CASES = {
    "usual": Case("afmoe", keys={**KEYS, **WIDE}, values=SPREAD, drop=(BIASES_OF_ATTENTION,)),
    "every second layer global, no scale, softmax, tied": Case(
        "afmoe",
        keys={
            **KEYS, "attention.sliding_window_pattern": 2, "expert_weights_scale": None, "expert_gating_func": 1,
            "expert_weights_norm": False, "rope.dimension_count": 32, "expert_shared_count": 1, "block_count": 4,
        },
        values=SPREAD,
        drop=(TIED, BIASES_OF_ATTENTION),
    ),
    "flags, no shared experts, biases and scales, linear": Case(
        "afmoe",
        keys={
            **KEYS, **LINEAR, "attention.sliding_window_pattern": [False, True, False, False],
            "expert_shared_count": 0, "block_count": 4, "leading_dense_block_count": None,
        },
        values=SPREAD,
        keep=r"\.scale$",
    ),
    "linear, sigmoid not normalized": Case(
        "afmoe",
        keys={**KEYS, **LINEAR, "rope.freq_base_swa": None, "expert_weights_norm": None, "block_count": 3},
        values=SPREAD,
        drop=(BIASES_OF_ATTENTION,),
    ),
}  # fmt: skip
