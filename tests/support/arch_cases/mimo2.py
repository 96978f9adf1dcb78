"""MiMo V2."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import LINEAR, YARN

DENSE, EXPERTS, QKV = r"ffn_(gate|up|down)\.", r"ffn_.*_exps|ffn_gate_inp|exp_probs", r"attn_.*\.bias"
# The first layer is dense, and local layers have sinks.
MIXED = (rf"blk\.0\.({EXPERTS}|attn_sinks)", rf"blk\.[1-9]\.{DENSE}")
VALUES = {**SPREAD, "attn_sinks": lambda rng, shape: rng.normal(1, 1, shape)}
KEYS = {
    "block_count": 3, "attention.head_count_kv": [1, 2, 2], "attention.key_length": 96, "attention.value_length": 64,
    "rope.dimension_count": 32, "attention.sliding_window": 8,
    "attention.sliding_window_pattern": [False, True, True], "expert_count": 7, "expert_used_count": 3,
    "expert_feed_forward_length": 96, "attention.value_scale": 0.7, "rope.freq_base": 500.0,
    "rope.freq_base_swa": 300.0,
}  # fmt: skip
CASES = {
    "usual, a block for the next token": Case(
        "mimo2",
        keys={**KEYS, "block_count": 4, "attention.head_count_kv": [1, 2, 2, 2],
              "attention.sliding_window_pattern": [False, True, True, True]},
        values=VALUES,
        drop=(*MIXED, QKV),
        untold_keys={"nextn_predict_layers": 1},
        untold_tensors={
            "blk.3.nextn.eh_proj.weight": (256, 512),
            **{f"blk.3.{name}.weight": (256,) for name in ("nextn.enorm", "nextn.hnorm", "layer_output_norm")},
        },
    ),
    "no sinks, no scale, no bias of the choice, linear, fused": Case(
        "mimo2",
        keys={
            **KEYS, **LINEAR, "attention.value_scale": None, "rope.freq_base_swa": None,
            "rope.scaling.attn_factor": 1.2, "expert_weights_scale": 2.0, "expert_gating_func": 1, "block_count": 2,
            "attention.head_count_kv": 2,
            "attention.sliding_window_pattern": [True, False],
        },
        values=VALUES,
        drop=(*MIXED, "attn_sinks", r"\.bias"),
        fused=True,
    ),
    "sinks everywhere, yarn, unused biases and scales": Case(
        "mimo2",
        keys={
            **KEYS, **YARN, "block_count": 2, "attention.head_count_kv": 2,
            "attention.sliding_window_pattern": [False, True],
        },
        values=VALUES,
        drop=(r"ffn_(gate|up|down)\.",),
        keep=r"\.scale$",
    ),
}  # fmt: skip
