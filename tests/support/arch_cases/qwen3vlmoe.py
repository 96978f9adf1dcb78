"""The text model of Qwen 3 VL with experts."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, TIED, WIDE

KEYS = {
    "expert_count": 7, "expert_used_count": 3, "expert_feed_forward_length": 96,
    "rope.dimension_sections": [12, 10, 10, 0],
}  # fmt: skip
CASES = {
    "usual": Case("qwen3vlmoe", keys={**KEYS, "rope.freq_base": 500.0}, values=SPREAD, drop=BIASES),
    "width by rule, wide heads, linear, tied": Case(
        "qwen3vlmoe",
        keys={
            **KEYS, **WIDE, **LINEAR, "expert_feed_forward_length": None, "rope.dimension_sections": [24, 20, 20, 0],
            "expert_weights_scale": 2.0, "expert_gating_func": 2,
        },
        values=SPREAD,
        drop=(TIED, *BIASES),
    ),
    "biases, unused scales, unread layers for images": Case(
        "qwen3vlmoe", keys=KEYS, untold_keys={"n_deepstack_layers": 1}, values=SPREAD, keep=r"exps\.scale$"
    ),
}  # fmt: skip
