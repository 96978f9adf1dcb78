"""MiniMax M2."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import LINEAR, QKV_BIASES, WIDE

KEYS = {
    "expert_count": 7, "expert_used_count": 3, "expert_feed_forward_length": 512, "feed_forward_length": 512,
    "expert_gating_func": 2, "rope.dimension_count": 32,
}  # fmt: skip
CASES = {
    "usual": Case("minimax-m2", keys={**KEYS, **WIDE}, values=SPREAD, drop=(QKV_BIASES,)),
    "softmax, unread width and scale": Case(
        "minimax-m2",
        keys={**KEYS, "expert_gating_func": 1, "expert_feed_forward_length": 96, "expert_weights_scale": 2.5},
        values=SPREAD,
        drop=(QKV_BIASES,),
    ),
    "biases and scales, unused ones too, linear": Case(
        "minimax-m2", keys={**KEYS, **LINEAR, "rope.dimension_count": 64}, values=SPREAD, keep=r"\.scale$"
    ),
    "weights of chosen ones": Case(
        "minimax-m2", keys={**KEYS, "expert_gating_func": 3, "expert_count": 4}, values=SPREAD, drop=(QKV_BIASES,)
    ),
}
