"""Step 3.5."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, NEXT_TOKEN, YARN, factors

DENSE, EXPERTS, QKV = r"ffn_(gate|up|down)\.", r"ffn_.*_(sh)?exp|ffn_gate_inp|exp_probs", r"attn_.*\.bias"
# The first layer is dense, the others have experts.
MIXED = (rf"blk\.0\.({EXPERTS})", rf"blk\.[1-9]\.{DENSE}")
KEYS = {
    "block_count": 3, "attention.head_count": [4, 6, 4], "attention.head_count_kv": [2, 3, 1],
    "attention.key_length": 64, "attention.value_length": 64, "attention.sliding_window": 8,
    "attention.sliding_window_pattern": [False, True, False], "expert_count": 7, "expert_used_count": 3,
    "expert_feed_forward_length": 96, "expert_shared_feed_forward_length": 160, "expert_weights_norm": True,
    "expert_weights_scale": 1.5, "rope.freq_base": 500.0, "rope.freq_base_swa": 300.0,
    "swiglu_clamp_exp": [0.0, 0.4, 0.0], "swiglu_clamp_shexp": [0.3, 0.0, 0.5],
}  # fmt: skip
CASES = {
    "usual": Case(
        "step35", keys=KEYS, values={**SPREAD, "rope_freqs": factors}, keep="rope_freqs", drop=(*MIXED, QKV)
    ),
    "no gates, no norms of heads, softmax": Case(
        "step35",
        keys={
            **KEYS, "block_count": 2, "attention.head_count": 4, "attention.head_count_kv": 2,
            "attention.sliding_window_pattern": [False, True], "swiglu_clamp_exp": 0.4, "swiglu_clamp_shexp": None,
            "expert_gating_func": 1, "expert_weights_norm": False, "expert_weights_scale": None,
        },
        values={**SPREAD, "rope_freqs": factors},
        keep="rope_freqs",
        drop=(r"attn_gate", r"attn_._norm", DENSE, *BIASES),
    ),
    "all local, linear, biases and scales": Case(
        "step35",
        keys={
            **KEYS, **LINEAR, "attention.sliding_window_pattern": [True] * 3, "rope.freq_base_swa": None,
            "rope.scaling.attn_factor": 1.2, "swiglu_clamp_exp": None,
        },
        values=SPREAD,
        drop=MIXED,
        keep=r"(exps|exp|gate|attn_[qkv]|attn_output)\.scale$",
    ),
    "yarn, partial, a block for the next token": Case(
        "step35",
        keys={**KEYS, **YARN, "rope.dimension_count": 32},
        values=SPREAD,
        drop=(*MIXED, QKV),
        untold_keys=NEXT_TOKEN["untold_keys"],
        untold_tensors=NEXT_TOKEN["untold_tensors"],
    ),
}  # fmt: skip
