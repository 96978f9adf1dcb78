"""OLMo 1, 2 and 3."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, EACH, LINEAR, TIED, UNREAD, YARN, llama_like

CLIP = "attention.clamp_kqv"
MIXTURE = {**EACH, "expert_count": 7, "expert_used_count": 3}
LOCAL = {"block_count": 5, "attention.sliding_window": 12}  # the fourth layer is global
CASES = {
    **llama_like("olmo", norm="layer", wide=False),
    "olmo clipped": Case("olmo", "layer", {CLIP: 0.6}, drop=BIASES),
    "olmo clipped, biases, fused": Case("olmo", "layer", {CLIP: 0.3}, fused=True),
    "olmo clipped, tied": Case("olmo", "layer", {CLIP: 0.8}, drop=[TIED]),
    "olmo negative clip, unread keys": Case("olmo", "layer", {CLIP: -1.0, **UNREAD}, drop=BIASES),
    **llama_like("olmo2", tied=False, wide=False),
    "olmo2 local": Case("olmo2", keys=LOCAL, drop=BIASES),
    "olmo2 local, linear, unread base": Case(
        "olmo2", keys={**LOCAL, **LINEAR, "rope.freq_base_swa": 90.0, "attention.scale": 0.3}, drop=BIASES
    ),
    "olmo2 local, yarn, every second": Case("olmo2", keys={**LOCAL, **YARN, "attention.sliding_window_pattern": 2}),
    "olmo2 flags, yarn": Case(
        "olmo2",
        keys={**LOCAL, **YARN, "attention.sliding_window_pattern": [False, False, True, True, False]},
        fused=True,
    ),
    "olmo2 window of zero": Case("olmo2", keys={**LOCAL, **YARN, **UNREAD, "attention.sliding_window": 0}),
    "olmoe usual": Case("olmoe", keys=MIXTURE, values=SPREAD, drop=BIASES),
    "olmoe yarn, biases, all experts": Case("olmoe", keys={**YARN, **MIXTURE, "expert_used_count": 7}, values=SPREAD),
    "olmoe linear, one of many": Case(
        "olmoe",
        keys={**LINEAR, **UNREAD, **EACH, "expert_count": 20, "expert_used_count": 1},
        values=SPREAD,
        drop=BIASES,
    ),
}
