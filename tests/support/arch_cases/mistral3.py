"""Ministral 3."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, FACTORS, FREQS, LONGROPE, UNREAD, YARN, llama_like

SHARPER = {"attention.temperature_scale": 0.6, "rope.scaling.original_context_length": 8}
CASES = {
    **llama_like("mistral3", freqs=True),
    "mistral3 queries sharpen": Case("mistral3", keys=SHARPER),
    "mistral3 queries flatten, fused": Case(
        "mistral3", keys={**SHARPER, "attention.temperature_scale": -0.2}, fused=True
    ),
    "mistral3 neutral and unread keys": Case("mistral3", keys={**UNREAD, "attention.temperature_scale": 0.0}),
    "mistral3 yarn untuned": Case("mistral3", drop=BIASES, keys={**YARN, **SHARPER}),
    "mistral3 full log multiplier": Case("mistral3", keys={**YARN, "rope.scaling.yarn_log_multiplier": 1.0}),
    "mistral3 factors and yarn": Case("mistral3", keys=YARN, **FREQS),
    "mistral3 long factors": Case("mistral3", keys=LONGROPE, context=512, **FACTORS),
}
