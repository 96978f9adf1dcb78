"""Granite."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, FACTORS, LONGROPE, SCALED, TIED, WINDOW, llama_like

GRANITE = {**SCALED, "attention.scale": 0.3}
MIXTURE = {**GRANITE, "expert_count": 7, "expert_used_count": 3}
SHARED = {"expert_shared_feed_forward_length": 384}
ZEROS = {"embedding_scale": 0.0, "residual_scale": 0.0, "logit_scale": 3.0}
HYBRID = {  # what converters write for Granite 4 models that have no state-space layers
    "ssm.conv_kernel": 4, "ssm.state_size": 128, "ssm.group_count": 1, "ssm.inner_size": 512, "ssm.time_step_rank": 8,
    "expert_count": 0, "expert_used_count": 0, "expert_shared_feed_forward_length": 64,
    "attention.head_count_kv": [2, 2], "rope.scaling.finetuned": True, "deepstack_mapping": [-1, 1],
}  # fmt: skip
CASES = {
    **llama_like("granite", freqs=True, keys=GRANITE),
    "granite multipliers by default": Case("granite", keys={"logit_scale": 4.0}, drop=BIASES),
    "granite multipliers of zero": Case("granite", keys={**ZEROS, "attention.scale": 0.0}, drop=BIASES),
    "granite without positions": Case("granite", keys={**GRANITE, "rope.scaling.finetuned": False}, drop=BIASES),
    "granite hybrid without state spaces": Case("granite", keys={**GRANITE, **HYBRID, **WINDOW}, drop=BIASES),
    "granite long factors": Case("granite", keys={**GRANITE, **LONGROPE}, context=512, **FACTORS),
    "granite short factors": Case("granite", keys={**GRANITE, **LONGROPE}, context=256, **FACTORS),
    "granitemoe usual": Case("granitemoe", keys=MIXTURE, values=SPREAD, drop=BIASES),
    "granitemoe shared, tied, biases": Case("granitemoe", keys={**MIXTURE, **SHARED}, values=SPREAD, drop=[TIED]),
    "granitemoe shared, one of six, no multipliers, keys of hybrids": Case(
        "granitemoe",
        keys={**HYBRID, "logit_scale": 4.0, "expert_count": 6, "expert_used_count": 1, **SHARED},
        values=SPREAD,
        drop=BIASES,
    ),
    "granitemoe long factors": Case(
        "granitemoe",
        keys={**MIXTURE, **SHARED, **LONGROPE},
        context=512,
        keep=FACTORS["keep"],
        values={**SPREAD, **FACTORS["values"]},
    ),
}
