"""GLM-4.5 and its descendants."""

from tests.support.any_arch import Case
from tests.support.arch_cases.deepseek import EXPERTS
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import NEXT_TOKEN, QKV_BIASES, TIED, YARN

HALF = {**EXPERTS, "rope.dimension_count": 32, "expert_weights_norm": True}
NORMS = r"attn_(q|k)_norm"
CASES = {
    "glm4moe usual": Case("glm4moe", keys={**HALF, "expert_weights_scale": 2.5}, values=SPREAD, drop=(NORMS,)),
    "glm4moe q/k norms, no biases, tied, yarn": Case(
        "glm4moe", keys={**HALF, **YARN}, values=SPREAD, drop=(QKV_BIASES, TIED), fused=True
    ),
    "glm4moe softmax, sections": Case(
        "glm4moe", values=SPREAD, drop=(NORMS,),
        keys={**HALF, "rope.dimension_sections": [4, 6, 6, 0], "expert_gating_func": 1, "expert_weights_norm": False},
    ),
    "glm4moe a block that predicts further": Case(
        "glm4moe", values=SPREAD, untold_keys=NEXT_TOKEN["untold_keys"], untold_tensors=NEXT_TOKEN["untold_tensors"],
        keys={**HALF, "leading_dense_block_count": 0, "attention.key_length": 96, "attention.value_length": 96},
    ),
}  # fmt: skip
