"""Ling and Ring."""

from tests.support.any_arch import Case
from tests.support.arch_cases.deepseek import CHOICE, EXPERTS
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, NEXT_TOKEN, YARN

GROUPS = {
    **EXPERTS, "expert_count": 12, "expert_group_count": 3, "expert_group_used_count": 2, "expert_gating_func": 2,
    "expert_weights_norm": True, "expert_weights_scale": 2.5,
}  # fmt: skip
HALF = {"attention.head_count": 2, "attention.head_count_kv": 1, "rope.dimension_count": 64}
CASES = {
    "bailingmoe usual": Case(
        "bailingmoe", keys={**EXPERTS, "expert_weights_norm": True}, values=SPREAD, drop=BIASES
    ),
    "bailingmoe not normalised, wide heads, biases": Case(
        "bailingmoe", values=SPREAD,
        keys={**EXPERTS, "attention.key_length": 96, "attention.value_length": 96, "rope.dimension_count": 96},
    ),
    "bailingmoe scaled, yarn, fused": Case(
        "bailingmoe", keys={**EXPERTS, **YARN, "expert_weights_scale": 1.5}, values=SPREAD, drop=BIASES, fused=True
    ),
    "bailingmoe2 usual": Case("bailingmoe2", keys={**GROUPS, **HALF}, values=SPREAD),
    "bailingmoe2 softmax, wide shared experts": Case(
        "bailingmoe2", values=SPREAD, drop=(CHOICE,),
        keys={**EXPERTS, "expert_gating_func": 1, "expert_shared_feed_forward_length": 320},
    ),
    "bailingmoe2 a block that predicts further": Case(
        "bailingmoe2", values=SPREAD, untold_keys=NEXT_TOKEN["untold_keys"],
        untold_tensors={**NEXT_TOKEN["untold_tensors"], "blk.2.layer_output_norm.weight": (256,)},
        keys={**GROUPS, "leading_dense_block_count": 0, "expert_weights_norm": False},
    ),
}  # fmt: skip
