"""Phi 2 and 3."""

from dataclasses import replace

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import EACH, FACTORS, LINEAR, QKV_BIASES, SIX, TIED, WINDOW, YARN

PARTIAL = {**EACH, "rope.dimension_count": 32}
LONGROPE = {
    "context_length": 1024, "rope.scaling.original_context_length": 256, "rope.scaling.attn_factor": 1.2,
    "rope.dimension_count": 48,
}  # fmt: skip
MIXTURE = {"expert_count": 5, "expert_used_count": 2}
LONG = Case("phi3", keys=LONGROPE, drop=[QKV_BIASES, TIED], fused=True, context=512, **FACTORS)

CASES = {
    "partial rotary": Case("phi2", "layer", PARTIAL, gelu=True),
    "fused, 20 of 80": Case(
        "phi2", "layer", {**EACH, "embedding_length": 320, "rope.dimension_count": 20}, fused=True, gelu=True
    ),
    "no q, k, v biases, whole heads": Case("phi2", "layer", WINDOW, drop=[QKV_BIASES], gelu=True),
    "linear": Case("phi2", "layer", {**PARTIAL, **LINEAR}, gelu=True),
    "yarn, six heads": Case("phi2", "layer", {**YARN, **SIX}, gelu=True),
    "fused, unread window": Case("phi3", keys={**EACH, **WINDOW}, drop=[QKV_BIASES], fused=True),
    "long factors, tied": LONG,
    "short factors": replace(LONG, context=256),
    "long factors by type and scale": replace(
        LONG, keys={**LONGROPE, "rope.scaling.type": "longrope", "rope.scaling.factor": 2.0}, fused=False
    ),
    "separate, biases": Case("phi3", keys={"rope.freq_base": 500.0, **SIX}),
    "linear, 20 of 64": Case("phi3", keys={**LINEAR, "rope.dimension_count": 20}, fused=True),
    "yarn": Case("phi3", keys=YARN, drop=[QKV_BIASES], fused=True),
    "phimoe usual": Case("phimoe", keys={**MIXTURE, **WINDOW}, values=SPREAD),
    "phimoe long factors, fused": Case(
        "phimoe",
        keys={**LONGROPE, **MIXTURE, "rope.dimension_count": 64},
        fused=True,
        context=512,
        keep=FACTORS["keep"],
        values={**SPREAD, **FACTORS["values"]},
    ),
    "phimoe yarn, six heads, one of many": Case(
        "phimoe", keys={**YARN, **SIX, "expert_count": 19, "expert_used_count": 1}, values=SPREAD, drop=[QKV_BIASES]
    ),
}
