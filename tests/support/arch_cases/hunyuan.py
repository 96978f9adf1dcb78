"""Hunyuan, dense."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, LINEAR, UNREAD, llama_like

CASES = {
    **llama_like("hunyuan-dense"),
    "hunyuan-dense stretched base": Case("hunyuan-dense", keys={"rope.scaling.alpha": 50.0}, drop=BIASES),
    "hunyuan-dense stretched base, linear": Case("hunyuan-dense", keys={"rope.scaling.alpha": 9.0, **LINEAR}),
    "hunyuan-dense one expert, unread keys": Case(
        "hunyuan-dense",
        keys={**UNREAD, "expert_count": 1, "expert_used_count": 1, "rope.dimension_sections": [8, 12, 12, 0]},
        drop=BIASES,
    ),
}
