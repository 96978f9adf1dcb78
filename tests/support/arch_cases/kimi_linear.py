"""Kimi Linear: delta attention with a decay for each key channel, latent attention, dense layers and experts."""

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD

KEYS = {  # the cache of llama.cpp has one head of latent channels
    "block_count": 3, "attention.head_count_kv": [0, 1, 0], "kda.head_dim": 64, "ssm.conv_kernel": 4,
    "attention.kv_lora_rank": 96, "rope.dimension_count": 32, "attention.key_length_mla": 96,
    "attention.value_length_mla": 64, "attention.key_length": 128, "attention.value_length": 96,
    "leading_dense_block_count": 1, "expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 160,
    "expert_shared_count": 1, "expert_gating_func": 2, "expert_weights_scale": 2.446,
}  # fmt: skip
DENSE = {"leading_dense_block_count": 3, "expert_count": 0, "expert_used_count": 0}
SMALL = {
    "block_count": 4, "attention.head_count_kv": [1, 0, 0, 1], "kda.head_dim": 32, "ssm.conv_kernel": 2,
    "attention.head_count": 6, "attention.kv_lora_rank": 64, "attention.key_length": 96, "attention.value_length": 64,
    "rope.dimension_count": 32, "attention.key_length_mla": 80, "attention.value_length_mla": 48,
}  # fmt: skip
SOFTMAX = {
    "leading_dense_block_count": None, "expert_gating_func": 1, "expert_weights_scale": None, "expert_used_count": 3,
    "expert_shared_count": 2, "block_count": 2, "attention.head_count_kv": [0, 1],
}  # fmt: skip
FADING = {
    "ssm_a$": lambda rng, shape: -rng.uniform(0.05, 2, shape),
    "conv1d": lambda rng, shape: rng.normal(0, 0.6, shape),
    **SPREAD,
    "exp_probs_b": lambda rng, shape: rng.normal(0, 0.3, shape),
}
KEPT = {
    "ssm_f_b": lambda rng, shape: np.zeros(shape),
    "ssm_dt": lambda rng, shape: np.full(shape, -6.0),
    "ssm_beta": lambda rng, shape: rng.uniform(0, 0.1, shape),
    **FADING,
}
# Some channels fade at once, by a logarithm of -300, others hardly.
AT_ONCE = {"ssm_dt": lambda rng, shape: rng.choice([-5.0, 0.0, 300.0], shape), **FADING}
NO_BIASES = (r"attn_[qkv]\.bias", "attn_q_a")
CASES = {
    name: Case("kimi-linear", **{"drop": NO_BIASES, "values": FADING, **options})
    for name, options in {
        "usual": {"keys": KEYS},
        "dense": {"keys": {**KEYS, **DENSE}},
        "softmax, two shared experts": {"keys": {**KEYS, **SOFTMAX}},
        "attention first and last, small heads": {"keys": {**KEYS, **DENSE, **SMALL, "leading_dense_block_count": 4}},
        "unused biases and scales": {"keys": {**KEYS}, "drop": ("attn_q_a",), "keep": r"\.scale$"},
        "nothing fades": {"keys": {**KEYS, **DENSE}, "values": KEPT, "length": 96},
        "some fade at once": {"keys": {**KEYS, **DENSE}, "values": AT_ONCE},
    }.items()
}
