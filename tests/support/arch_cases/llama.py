"""Llama: what tests/converters/archs/test_archs.py does not have."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, FACTORS, FREQS, LONGROPE, TIED

MIXTURE = {"expert_count": 5, "expert_used_count": 2}
CASES = {
    "all biases": Case("llama"),
    "fused q, k, v": Case("llama", fused=True),
    "heads of 60": Case("llama", keys={"attention.key_length": 60, "attention.value_length": 60}),
    "heads of 72": Case("llama", keys={"attention.key_length": 72, "attention.value_length": 72}),
    "heads of 100, factors": Case("llama", keys={"attention.key_length": 100, "attention.value_length": 100}, **FREQS),
    "long factors": Case("llama", keys=LONGROPE, context=512, **FACTORS),
    "short factors": Case("llama", keys=LONGROPE, context=256, **FACTORS),
    "experts": Case("llama", keys=MIXTURE, values=SPREAD, drop=BIASES),
    "experts, tied, biases of attention, factors": Case(
        "llama",
        keys={**MIXTURE, "expert_used_count": 3},
        drop=[TIED],
        keep="rope_freqs",
        values={**SPREAD, **FREQS["values"]},
    ),
    "experts in groups with scales": Case(
        "llama",
        keys={**MIXTURE, "expert_count": 6, "expert_group_count": 3, "expert_group_used_count": 2},
        values={**SPREAD, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)},
        keep=r"_exps\.scale$",
    ),
}
