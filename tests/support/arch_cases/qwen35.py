"""Qwen 3.5, whose layers are gated delta nets but for every fourth."""

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import LINEAR, TIED

KEYS = {
    "block_count": 3, "full_attention_interval": 3, "rope.dimension_sections": [6, 5, 5, 0],
    "attention.key_length": 64, "attention.value_length": 64, "rope.dimension_count": 32, "ssm.conv_kernel": 4,
    "ssm.inner_size": 256, "ssm.state_size": 32, "ssm.time_step_rank": 8, "ssm.group_count": 2,
}  # fmt: skip
FADING = {
    "ssm_a$": lambda rng, shape: -rng.uniform(0.05, 2, shape),
    "conv1d": lambda rng, shape: rng.normal(0, 0.6, shape),
}
# Next to nothing fades, and little is learned of each token.
KEPT = {
    **FADING,
    "ssm_alpha": lambda rng, shape: np.zeros(shape),
    "ssm_dt": lambda rng, shape: np.full(shape, -6.0),
    "ssm_beta": lambda rng, shape: rng.uniform(0, 0.1, shape),
}
SCALES = {**FADING, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)}
NO_BIASES = (r"attn_[qkv]\.bias",)
FLAGS = {"full_attention_interval": None, "attention.recurrent_layers": [True, False, True]}
SHORT = {"ssm.conv_kernel": 2, "ssm.group_count": 1, **LINEAR}
LAST = {
    "block_count": 4, "full_attention_interval": None, "attention.recurrent_layers": [True, True, False, False],
}  # fmt: skip
FOR_LAST = {
    "blk.3.nextn.eh_proj.weight": (256, 512),
    **{f"blk.3.nextn.{name}.weight": (256,) for name in ("enorm", "hnorm", "shared_head_norm")},
}
TWO = {"block_count": 2, "full_attention_interval": 2}
MIXTURE = {
    **KEYS, "expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 192,
    "expert_shared_feed_forward_length": 320,
}  # fmt: skip
# Experts and routers read no more than others do: three times as much shows their last bits.
CALM = {"post_attention_norm": lambda rng, shape: rng.uniform(0.5, 1.5, shape)}
SPREADING = {**FADING, **SPREAD, **CALM}
CASES = {
    "experts": Case("qwen35moe", keys=MIXTURE, values=SPREADING, drop=NO_BIASES),
    "experts as wide as all, three of nine, tied": Case(
        "qwen35moe",
        keys={
            **MIXTURE,
            **TWO,
            "expert_count": 9,
            "expert_used_count": 3,
            "feed_forward_length": 480,
            "expert_feed_forward_length": None,
            "expert_shared_feed_forward_length": None,
        },
        values=SPREADING,
        drop=(*NO_BIASES, TIED),
    ),
    "experts, scales": Case(
        "qwen35moe", keys={**MIXTURE, **TWO}, values={**SCALES, **SPREAD, **CALM}, drop=NO_BIASES, keep=r"\.scale$"
    ),
    "usual": Case("qwen35", keys=KEYS, values=FADING, drop=NO_BIASES),
    "as many key heads, tied": Case(
        "qwen35", keys={**KEYS, "ssm.group_count": 8}, values=FADING, drop=(*NO_BIASES, TIED)
    ),
    "flags per layer": Case("qwen35", keys={**KEYS, **FLAGS}, values=FADING, drop=NO_BIASES),
    "short convolution, one key head, linear": Case("qwen35", keys={**KEYS, **SHORT}, values=FADING, drop=NO_BIASES),
    "a layer for the next token": Case(
        "qwen35",
        keys={**KEYS, **LAST},
        values=FADING,
        drop=NO_BIASES,
        untold_keys={"nextn_predict_layers": 1},
        untold_tensors=FOR_LAST,
    ),
    "biases": Case("qwen35", keys=KEYS, values=FADING),
    "scales": Case("qwen35", keys=KEYS, values=SCALES, drop=NO_BIASES, keep=r"\.scale$"),
    "nothing fades": Case("qwen35", keys={**KEYS, **TWO}, values=KEPT, drop=NO_BIASES, length=96),
}
