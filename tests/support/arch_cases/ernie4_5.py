"""ERNIE 4.5."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import TIED, UNREAD, WIDE, llama_like

MOE = {
    "block_count": 3, "leading_dense_block_count": 1, "interleave_moe_layer_step": 1, "expert_count": 7,
    "expert_used_count": 3, "expert_feed_forward_length": 96, "expert_shared_feed_forward_length": 160,
}  # fmt: skip
CASES = {
    **llama_like("ernie4_5"),
    "ernie4_5 unread keys": Case("ernie4_5", keys={**UNREAD, "rope.dimension_sections": [16, 8, 8, 0]}),
    "ernie4_5-moe usual": Case("ernie4_5-moe", keys={**MOE, **WIDE}, values=SPREAD, drop=(r"attn_.*\.bias",)),
    "ernie4_5-moe no shared expert, no bias of the choice": Case(
        "ernie4_5-moe",
        keys={**MOE, "expert_shared_feed_forward_length": None, "block_count": 2},
        values=SPREAD,
        drop=(r"\.bias", TIED),
    ),
    "ernie4_5-moe every third layer, implied keys, scales": Case(
        "ernie4_5-moe",
        keys={
            **MOE, "leading_dense_block_count": 2, "interleave_moe_layer_step": 3, "expert_weights_scale": 2.0,
            "expert_gating_func": 2, "expert_weights_norm": False, "rope.dimension_sections": [16, 8, 8, 0],
        },
        values=SPREAD,
        keep=r"\.scale$",
    ),
    "ernie4_5-moe no gates": Case("ernie4_5-moe", keys=MOE, values=SPREAD, drop=(r"attn_.*\.bias", "ffn_gate_exps")),
}  # fmt: skip
