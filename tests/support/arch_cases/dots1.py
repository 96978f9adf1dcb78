"""dots.llm1."""

from tests.support.any_arch import Case
from tests.support.arch_cases.deepseek import CHOICE, EXPERTS
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, EACH, WIDE, YARN

SIGMOID = {**EACH, **EXPERTS, "expert_gating_func": 2, "expert_weights_norm": True, "expert_weights_scale": 2.5}
NO_BIASES = (r"attn_.*\.bias",)
CASES = {
    "dots1 usual": Case("dots1", keys=SIGMOID, values=SPREAD, drop=NO_BIASES),
    "dots1 softmax, wide heads, yarn": Case(
        "dots1", keys={**EACH, **EXPERTS, **WIDE, **YARN, "expert_gating_func": 1}, values=SPREAD, drop=BIASES
    ),
    "dots1 no bias for the choice, dense layers behind one another, fused": Case(
        "dots1", values=SPREAD, drop=(CHOICE,), fused=True,
        keys={**SIGMOID, "leading_dense_block_count": 2, "expert_weights_norm": False, "expert_used_count": 7},
    ),
}  # fmt: skip
