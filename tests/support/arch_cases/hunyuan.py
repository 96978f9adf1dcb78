"""Hunyuan, dense and with experts."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, TIED, UNREAD, WIDE, llama_like

MOE = {"expert_count": 7, "expert_used_count": 3, "expert_feed_forward_length": 512}

CASES = {
    **llama_like("hunyuan-dense"),
    "hunyuan-dense stretched base": Case("hunyuan-dense", keys={"rope.scaling.alpha": 50.0}, drop=BIASES),
    "hunyuan-dense stretched base, linear": Case("hunyuan-dense", keys={"rope.scaling.alpha": 9.0, **LINEAR}),
    "hunyuan-dense one expert, unread keys": Case(
        "hunyuan-dense",
        keys={**UNREAD, "expert_count": 1, "expert_used_count": 1, "rope.dimension_sections": [8, 12, 12, 0]},
        drop=BIASES,
    ),
    "hunyuan-moe usual": Case("hunyuan-moe", keys={**MOE, **WIDE}, values=SPREAD, drop=BIASES),
    "hunyuan-moe narrow shared expert, unread keys, tied": Case(
        "hunyuan-moe",
        keys={
            **MOE, **UNREAD, "expert_feed_forward_length": 96, "expert_shared_feed_forward_length": 160,
            "expert_weights_scale": 2.0, "expert_gating_func": 2, "rope.scaling.alpha": 50.0,
        },
        values=SPREAD,
        drop=(TIED, *BIASES),
    ),
    "hunyuan-moe biases and scales, one of many": Case(
        "hunyuan-moe", keys={**MOE, "expert_count": 33, "expert_used_count": 1}, values=SPREAD, keep=r"\.scale$"
    ),
}  # fmt: skip
