"""Qwen 3.5, whose layers are gated delta nets but for every fourth."""

import numpy as np

from tests.support.any_arch import Case
from tests.support.arch_variants import LINEAR, TIED

KEYS = {
    "block_count": 3, "full_attention_interval": 3, "rope.dimension_sections": [6, 5, 5, 0],
    "attention.key_length": 64, "attention.value_length": 64, "rope.dimension_count": 32, "ssm.conv_kernel": 4,
    "ssm.inner_size": 256, "ssm.state_size": 32, "ssm.time_step_rank": 8, "ssm.group_count": 2,
}  # fmt: skip
FADING = {
    "ssm_a": lambda rng, shape: -rng.uniform(0.05, 2, shape),
    "conv1d": lambda rng, shape: rng.normal(0, 0.6, shape),
}
# Keys that are nearly one and the same, which a series for the inverse does not survive: a constant beside small weights.
ALIKE = {
    "attn_norm": lambda rng, shape: rng.uniform(0.01, 0.02, shape),
    "ssm_alpha": lambda rng, shape: np.zeros(shape),
    "ssm_dt": lambda rng, shape: np.full(shape, -6.0),
    "ssm_beta": lambda rng, shape: np.full(shape, 0.1),
}
NO_BIASES = (r"attn_[qkv]\.bias",)
FLAGS = {"full_attention_interval": None, "attention.recurrent_layers": [True, False, True]}
CASES = {
    "usual": Case("qwen35", keys=KEYS, values=FADING, drop=NO_BIASES),
    "as many key heads, tied": Case(
        "qwen35", keys={**KEYS, "ssm.group_count": 8}, values=FADING, drop=(*NO_BIASES, TIED)
    ),
    "flags per layer": Case("qwen35", keys={**KEYS, **FLAGS}, values=FADING, drop=NO_BIASES),
    "short convolution, one key head, linear": Case(
        "qwen35", keys={**KEYS, **LINEAR, "ssm.conv_kernel": 2, "ssm.group_count": 1}, values=FADING, drop=NO_BIASES
    ),
    "biases": Case("qwen35", keys=KEYS, values=FADING),
    "scales": Case("qwen35", keys=KEYS, values={**FADING, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)}, drop=NO_BIASES, keep=r"\.scale$"),
    "keys alike": Case("qwen35", keys={**KEYS, "block_count": 2, "full_attention_interval": 2}, values={**FADING, **ALIKE}, drop=NO_BIASES, length=96),
}
