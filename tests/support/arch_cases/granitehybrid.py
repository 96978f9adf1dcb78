"""Granite 4 with state spaces, dense."""

from tests.support.any_arch import Case
from tests.support.arch_cases.mamba2 import FADING, MANY, ONE, SCALES, SPACES
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import FREQS, LINEAR, SCALED, TIED, WINDOW

SIX = {  # an odd pattern of layers; heads that differ from layer to layer
    "block_count": 6, "attention.head_count": [4, 4, 4, 4, 8, 4], "attention.head_count_kv": [0, 2, 0, 0, 4, 0],
    "attention.key_length": 64, "attention.value_length": 64,
}  # fmt: skip
KEYS = {**SPACES, **SCALED, "block_count": 3, "attention.scale": 0.3, "attention.head_count_kv": [0, 2, 0]}
LAST = {"attention.head_count_kv": [0, 0, 1]}
WRITTEN = {"expert_count": 0, "expert_used_count": 0, "expert_shared_feed_forward_length": 64,
           "deepstack_mapping": [-1, 1, -1]}  # fmt: skip
ZERO = {"embedding_scale": 0.0, "residual_scale": 0.0, "logit_scale": 0.0, "attention.scale": 0.0}
EXPERTS = {"expert_count": 6, "expert_used_count": 2, "feed_forward_length": 192}
BIASES = (r"(attn_.*|ffn_.*)\.bias",)
CASES = {
    "usual": Case("granitehybrid", keys=KEYS, values=FADING, drop=BIASES),
    "all biases": Case("granitehybrid", keys=KEYS, values=FADING),
    "six layers": Case("granitehybrid", keys={**KEYS, **SIX}, values=FADING, drop=BIASES),
    "without positions, last layer attends, tied": Case(
        "granitehybrid", keys={**KEYS, **LAST, "rope.scaling.finetuned": False}, values=FADING, drop=(*BIASES, TIED)
    ),
    "one group, large states, multipliers of zero": Case(
        "granitehybrid", keys={**KEYS, **ONE, **ZERO}, values=FADING, drop=BIASES
    ),
    "multipliers by default, linear, fused": Case(
        "granitehybrid",
        keys={**KEYS, **LINEAR, **dict.fromkeys([*SCALED, "attention.scale"])},
        values=FADING,
        drop=BIASES,
        fused=True,
    ),
    "experts and a shared one": Case(
        "granitehybrid",
        keys={**KEYS, **EXPERTS, "expert_shared_feed_forward_length": 320},
        values={**FADING, **SPREAD},
        drop=BIASES,
    ),
    "experts alone, three of eight": Case(
        "granitehybrid",
        keys={**KEYS, **EXPERTS, "expert_count": 8, "expert_used_count": 3},
        values={**FADING, **SPREAD},
        drop=BIASES,
    ),
    "keys of its mixtures, as many groups as heads": Case(
        "granitehybrid", keys={**KEYS, **WRITTEN, **WINDOW, **MANY}, values=FADING, drop=BIASES
    ),
    "frequency factors, half turned": Case(
        "granitehybrid",
        keys={**KEYS, "rope.dimension_count": 32},
        values={**FADING, **FREQS["values"]},
        drop=BIASES,
        keep=FREQS["keep"],
    ),
    "scales": Case("granitehybrid", keys=KEYS, values=SCALES, drop=BIASES, keep=r"\.scale$"),
}
