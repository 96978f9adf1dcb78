"""EXAONE 3 and 4, K-EXAONE."""

from typing import Any

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, FREQS, LINEAR, NEXT_TOKEN, UNREAD, factors, llama_like

THIN: dict[str, Any] = {
    "block_count": 64, "embedding_length": 64, "feed_forward_length": 96, "attention.sliding_window": 12,
}  # fmt: skip
FLAGS = [i % 3 == 0 for i in range(64)]
QKV = r"attn_.*\.bias"
MOE = {
    "block_count": 5, "attention.sliding_window": 8, "leading_dense_block_count": 1, "expert_count": 7,
    "expert_used_count": 3, "expert_feed_forward_length": 96, "expert_shared_count": 1, "expert_weights_norm": True,
    "expert_weights_scale": 2.5, "expert_gating_func": 2, "rope.freq_base_swa": 100.0,
}  # fmt: skip
CASES = {
    **llama_like("exaone", freqs=True),
    **llama_like("exaone4", freqs=True, wide=False),
    "exaone4 with a block for the next token": Case("exaone4", **NEXT_TOKEN),
    "exaone4 window in another size": Case(
        "exaone4", keys={**UNREAD, "attention.scale": None, "rope.freq_base_swa": 100.0}, drop=BIASES
    ),
    "exaone4 of 32B": Case("exaone4", keys={**THIN, "rope.freq_base_swa": 100.0}, drop=BIASES),
    "exaone4 of 32B, every second layer": Case(
        "exaone4", keys={**THIN, "attention.sliding_window_pattern": 2}, fused=True, **FREQS
    ),
    "exaone4 of 32B, flags": Case(
        "exaone4", keys={**THIN, "attention.sliding_window_pattern": FLAGS, **LINEAR}, drop=BIASES
    ),
    "exaone4 of 32B, wide window": Case("exaone4", keys={**THIN, "attention.sliding_window": None}, drop=BIASES),
    "exaone-moe every second layer, wide shared expert, softmax": Case(
        "exaone-moe",
        keys={
            **MOE, **LINEAR, "attention.sliding_window_pattern": 2, "expert_shared_feed_forward_length": 160,
            "expert_gating_func": 1, "expert_weights_norm": False, "leading_dense_block_count": None, "block_count": 3,
        },
        values={**SPREAD, "rope_freqs": factors},
        keep="rope_freqs",
        drop=BIASES,
    ),
    "exaone-moe usual": Case("exaone-moe", keys=MOE, values={**SPREAD, "rope_freqs": factors}, drop=(QKV,)),
    "exaone-moe flags, biases and scales": Case(
        "exaone-moe",
        keys={
            **MOE, "attention.sliding_window_pattern": [False, True, False], "block_count": 3,
            "expert_weights_scale": None, "leading_dense_block_count": 2,
        },
        values=SPREAD,
        keep=r"\.scale$",
    ),
    "exaone-moe with a block for the next token": Case(
        "exaone-moe",
        keys={**MOE, "block_count": 3},
        values=SPREAD,
        drop=(QKV, r"blk\.2\.(ffn_.*_(sh)?exp|ffn_gate_inp|exp_probs)"),  # it has a dense feed-forward
        untold_keys=NEXT_TOKEN["untold_keys"],
        untold_tensors={
            **NEXT_TOKEN["untold_tensors"],
            "blk.2.ffn_gate.weight": (512, 256), "blk.2.ffn_up.weight": (512, 256),
            "blk.2.ffn_down.weight": (256, 512),
        },
    ),
}  # fmt: skip
