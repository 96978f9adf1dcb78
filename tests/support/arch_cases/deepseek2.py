"""DeepSeek 2 and what is written as it: all forms of latent attention and of routing that files have."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import LINEAR, NEXT_TOKEN, TIED, YARN

EXPERTS = {
    "block_count": 3, "leading_dense_block_count": 1, "expert_count": 10, "expert_used_count": 3,
    "expert_feed_forward_length": 256, "expert_shared_count": 2,
}  # fmt: skip
V3 = {
    "expert_count": 12, "expert_group_count": 4, "expert_group_used_count": 2, "expert_gating_func": 2,
    "expert_weights_norm": True, "expert_weights_scale": 2.5,
}  # fmt: skip
HEADS = {
    **EXPERTS, "attention.q_lora_rank": 256, "attention.kv_lora_rank": 256, "rope.dimension_count": 32,
}  # fmt: skip
ABSORBED = {
    **HEADS, "attention.head_count_kv": 1, "attention.key_length": 288, "attention.value_length": 256,
    "attention.key_length_mla": 96, "attention.value_length_mla": 64,
}  # fmt: skip
UNFOLDED = {**HEADS, "attention.head_count_kv": 4, "attention.key_length": 96, "attention.value_length": 64}
SMALL = {
    **ABSORBED, "attention.head_count": 3, "attention.kv_lora_rank": 72, "rope.dimension_count": 8,
    "attention.key_length": 80, "attention.value_length": 72, "attention.key_length_mla": 40,
    "attention.value_length_mla": 24, "attention.q_lora_rank": 0,
}  # fmt: skip
MULTIPLIER = {"rope.scaling.yarn_log_multiplier": 0.07}
# llama.cpp asks for gate and up in one tensor first
SEPARATE = {
    "drop": (r"gate_up_exps", TIED),
    "untold_tensors": {
        f"blk.{layer}.ffn_{part}_exps.weight": (10, 256, 256) for layer in (1, 2) for part in ("gate", "up")
    },
}
INDEXER = {
    "attention.indexer.head_count": 2, "attention.indexer.key_length": 64, "attention.indexer.top_k": 2048,
    "attention.q_lora_rank": 256,
}  # fmt: skip
SHARPER = {"attention.temperature_scale": 0.6, "attention.temperature_length": 8}
CASES = {
    "deepseek2 absorbed, groups, yarn": Case("deepseek2", keys={**ABSORBED, **V3, **YARN, **MULTIPLIER}, values=SPREAD),
    "deepseek2 unfolded, one matrix for queries": Case(
        "deepseek2", keys={**UNFOLDED, "attention.q_lora_rank": 0, **YARN, **MULTIPLIER}, values=SPREAD, **SEPARATE
    ),
    "deepseek2 absorbed, one matrix for queries, no bias": Case(
        "deepseek2", keys={**SMALL, **V3, "expert_group_count": 1}, values=SPREAD, drop=("exp_probs_b",)
    ),
    "deepseek2 unfolded, softmax of chosen, linear": Case(
        "deepseek2", keys={**UNFOLDED, **LINEAR, "expert_gating_func": 3, "expert_weights_scale": 1.5}, values=SPREAD
    ),
    "deepseek2 all dense, yarn without a multiplier": Case(
        "deepseek2", keys={**SMALL, **YARN, "leading_dense_block_count": 3}
    ),
    "mistral4 queries sharpen": Case("mistral4", keys={**ABSORBED, **YARN, **MULTIPLIER, **SHARPER}, values=SPREAD),
    "mistral4 full multiplier, no bias": Case(
        "mistral4", values=SPREAD, drop=("exp_probs_b",),
        keys={**SMALL, **YARN, "rope.scaling.yarn_log_multiplier": 0.1, "expert_gating_func": 2},
    ),
    "mistral4 unfolded, queries flatten": Case(
        "mistral4", values=SPREAD, drop=("exp_probs_b", TIED),
        keys={**UNFOLDED, **SHARPER, "attention.temperature_scale": -0.2, "expert_weights_norm": True},
    ),
    "glm-dsa sigmoid by default": Case(
        "glm-dsa", keys={**ABSORBED, **INDEXER, "expert_weights_scale": 2.5, "expert_weights_norm": True}, values=SPREAD
    ),
    "glm-dsa softmax, tied, yarn": Case(
        "glm-dsa", keys={**SMALL, **YARN, **INDEXER, "expert_gating_func": 1}, values=SPREAD, drop=("exp_probs_b", TIED)
    ),
    "glm-dsa a block that predicts further": Case(
        "glm-dsa", values=SPREAD, untold_keys=NEXT_TOKEN["untold_keys"], untold_tensors=NEXT_TOKEN["untold_tensors"],
        keys={**ABSORBED, **INDEXER, **V3, "leading_dense_block_count": 0},
    ),
}  # fmt: skip
