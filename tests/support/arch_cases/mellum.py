"""Mellum."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, WIDE, YARN

KEYS = {
    "block_count": 4, "attention.sliding_window": 8, "attention.sliding_window_pattern": 4, "expert_count": 7,
    "expert_used_count": 3, "expert_feed_forward_length": 96, "rope.freq_base_swa": 100.0,
}  # fmt: skip
CASES = {
    "every second layer, yarn": Case(
        "mellum", keys={**KEYS, **YARN, "attention.sliding_window_pattern": 2, "block_count": 3}, values=SPREAD,
        drop=BIASES,
    ),
    "usual, linear": Case("mellum", keys={**KEYS, **WIDE, **LINEAR}, values=SPREAD, drop=BIASES),
    "flags, biases, scales": Case(
        "mellum",
        keys={**KEYS, "attention.sliding_window_pattern": [True, False, False], "block_count": 3},
        values={**SPREAD, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)},
        keep=r"exps\.scale$",
    ),
    "no windows, linear": Case(
        "mellum", keys={**KEYS, **LINEAR, "attention.sliding_window": None, "block_count": 2}, values=SPREAD,
        drop=BIASES,
    ),
}  # fmt: skip
