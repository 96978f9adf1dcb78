"""DeepSeek 1, and the text model of DeepSeek OCR."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, EACH, LINEAR, TIED, YARN

EXPERTS = {
    "block_count": 3, "leading_dense_block_count": 1, "expert_count": 7, "expert_used_count": 3,
    "expert_feed_forward_length": 256, "expert_shared_count": 2,
}  # fmt: skip
SEVEN = {**EACH, **EXPERTS, "expert_weights_scale": 1.7}
CHOICE = r"^blk.*exp_probs_b"
CASES = {
    "deepseek usual": Case("deepseek", keys=EXPERTS, values=SPREAD, drop=BIASES),
    "deepseek scaled, tied, no dense layer, biases, fused": Case(
        "deepseek", values=SPREAD, drop=(TIED,), fused=True,
        keys={**EXPERTS, **LINEAR, "expert_weights_scale": 2.5, "leading_dense_block_count": None},
    ),
    "deepseek groups, yarn": Case(
        "deepseek", values=SPREAD, drop=BIASES,
        keys={**EXPERTS, **YARN, "expert_count": 12, "expert_group_count": 3, "expert_group_used_count": 2},
    ),
    "deepseek2-ocr usual": Case("deepseek2-ocr", keys={**EACH, **EXPERTS}, values=SPREAD, drop=(CHOICE,)),
    "deepseek2-ocr sigmoid, bias, stretched": Case(
        "deepseek2-ocr", values=SPREAD, drop=(TIED,),
        keys={**SEVEN, "rope.scaling.type": "yarn", "rope.scaling.factor": 2.0, "expert_gating_func": 2,
              "expert_weights_norm": True},
    ),
    "deepseek2-ocr linear, gate and up apart": Case(
        "deepseek2-ocr", values=SPREAD, drop=("gate_up_exps",),
        keys={**SEVEN, "rope.scaling.type": "linear", "rope.scaling.factor": 3.0, "rope.scaling.attn_factor": 0.8},
        untold_tensors={
            f"blk.{layer}.ffn_{part}_exps.weight": (7, 256, 256) for layer in (1, 2) for part in ("gate", "up")
        },
    ),
}  # fmt: skip
