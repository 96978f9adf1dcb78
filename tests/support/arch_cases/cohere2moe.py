"""Cohere 2 with experts."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, LINEAR, NEXT_TOKEN, TIED, WIDE

KEYS = {
    "block_count": 4, "attention.sliding_window": 8, "attention.sliding_window_pattern": 3, "logit_scale": 2.5,
    "leading_dense_block_count": 1, "expert_count": 7, "expert_used_count": 3, "expert_feed_forward_length": 96,
    "expert_shared_count": 2, "expert_weights_norm": True, "expert_weights_scale": 1.5, "rope.freq_base_swa": 90.0,
}  # fmt: skip
FUSED = {
    f"blk.{i}.ffn_{part}_exps.weight": (7, 96, 256) for i in range(1, 4) for part in ("gate", "up")
}  # fmt: skip
CASES = {
    "usual": Case("cohere2moe", "layer", {**KEYS, **WIDE}, values=SPREAD, drop=BIASES),
    "gate and up apart, softmax, tied": Case(
        "cohere2moe",
        "layer",
        {**KEYS, "expert_gating_func": 1, "expert_weights_norm": False, "logit_scale": 0.0},
        values=SPREAD,
        drop=(r"gate_up_exps", TIED, *BIASES),
        untold_tensors=FUSED,
    ),
    "RMS norms, flags, no shared expert, linear, biases": Case(
        "cohere2moe",
        keys={
            **KEYS, **LINEAR, "attention.sliding_window_pattern": [False, True, False, False], "block_count": 4,
            "leading_dense_block_count": 3, "expert_shared_count": 0,
        },
        values=SPREAD,
    ),
    "wide shared expert, scales, a block for the next token": Case(
        "cohere2moe",
        "layer",
        {**KEYS, "expert_shared_feed_forward_length": 160, "block_count": 3},
        values={**SPREAD, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)},
        drop=(r"blk\.2\..*scale", *BIASES),
        keep=r"\.scale$",
        untold_keys=NEXT_TOKEN["untold_keys"],
        untold_tensors=NEXT_TOKEN["untold_tensors"],
    ),
}  # fmt: skip
