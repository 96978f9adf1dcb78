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
# Nothing fades, and every token is learned.
LEARNED = {
    "ssm_alpha": lambda rng, shape: np.zeros(shape),
    "ssm_dt": lambda rng, shape: np.full(shape, -6.0),
    "ssm_beta": lambda rng, shape: rng.uniform(0, 0.1, shape),
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
    "a layer for the next token": Case(
        "qwen35", keys={**KEYS, "block_count": 4, "nextn_predict_layers": 1}, values=FADING, drop=NO_BIASES
    ),
    "biases": Case("qwen35", keys=KEYS, values=FADING),
    "scales": Case(
        "qwen35", keys=KEYS, values={**FADING, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)}, drop=NO_BIASES,
        keep=r"\.scale$",
    ),
        "qwen35",
        keys=KEYS,
        values={**FADING, r"\.scale": lambda rng, shape: rng.uniform(0.5, 2, shape)},
        drop=NO_BIASES,
        keep=r"\.scale$",
    ),
    "nothing fades": Case(
        "qwen35", keys={**KEYS, "block_count": 2, "full_attention_interval": 2}, values={**FADING, **LEARNED},
        drop=NO_BIASES, length=96,
    ),
        "qwen35",
        keys={**KEYS, "block_count": 2, "full_attention_interval": 2},
        values={**FADING, **ALIKE},
        drop=NO_BIASES,
        length=96,
    ),
}  # fmt: skip
