"""Qwen 2 and Qwen 3 with experts."""

from tests.support.any_arch import Case
from tests.support.arch_variants import TIED

KEYS = {"expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 256}
SPREAD = {"ffn_gate_inp": lambda rng, shape: rng.standard_normal(shape) * 3 / shape[-1] ** 0.5}  # no near choices
HEADS = {"attention.key_length": 64, "attention.value_length": 64}
SHARED = {**KEYS, "expert_shared_feed_forward_length": 384}
CASES = {
    "usual": Case("qwen3moe", keys={**KEYS, **HEADS}, values=SPREAD),
    "all experts, tied": Case("qwen3moe", keys={**KEYS, **HEADS, "expert_used_count": 6}, values=SPREAD, drop=(TIED,)),
    "one of many": Case("qwen3moe", keys={**KEYS, **HEADS, "expert_count": 33, "expert_used_count": 1}, values=SPREAD),
    "width by rule": Case("qwen3moe", keys={**KEYS, **HEADS, "expert_feed_forward_length": None}, values=SPREAD),
    "scales": Case(
        "qwen3moe",
        keys={**KEYS, **HEADS},
        values={**SPREAD, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)},
        keep=r"_exps\.scale$",
    ),
    "shared": Case("qwen2moe", keys=SHARED, values=SPREAD),
    "shared as wide as all": Case("qwen2moe", keys=KEYS, values=SPREAD),
}
