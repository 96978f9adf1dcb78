"""LFM 2, whose layers without key/value heads are short convolutions."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import LINEAR, TIED, WINDOW

NO_BIASES = (r"attn_[qkv]\.bias", r"^dense_2")
KEYS = {"block_count": 3, "shortconv.l_cache": 3, "attention.head_count_kv": [0, 2, 0]}
# Large enough that what the convolutions keep of earlier tokens shows.
VALUES = {r"shortconv\.conv": lambda rng, shape: rng.normal(0, 1, shape)}
LONG = {"block_count": 4, "shortconv.l_cache": 7, "attention.head_count_kv": [2, 0, 0, 2]}
MIXTURE = {
    **KEYS, "leading_dense_block_count": 1, "expert_count": 6, "expert_used_count": 2,
    "expert_feed_forward_length": 160, "expert_gating_func": 2,
}  # fmt: skip
CHOSEN = {  # a bias that chooses and does not weigh
    **VALUES, **SPREAD, "exp_probs_b": lambda rng, shape: rng.normal(0, 0.3, shape),
}  # fmt: skip
MIXTURES = {
    name: Case("lfm2moe", **{"drop": NO_BIASES, "values": CHOSEN, **options})
    for name, options in {
        "experts": {"keys": MIXTURE, "drop": (*NO_BIASES, TIED)},
        "experts everywhere, softmax": {
            "keys": {**MIXTURE, "leading_dense_block_count": None, "expert_gating_func": 1, "expert_used_count": 3},
        },
        "experts, softmax of the chosen, unread window": {
            "keys": {**MIXTURE, "leading_dense_block_count": 2, "expert_gating_func": 3, **WINDOW},
        },
    }.items()
}
CASES = MIXTURES | {
    name: Case("lfm2", **{"drop": NO_BIASES, "values": VALUES, **options})
    for name, options in {
        "usual": {"keys": KEYS, "drop": (*NO_BIASES, TIED)},
        "attention first and last, long convolution": {"keys": {**KEYS, **LONG}},
        "other key heads in each layer": {"keys": {**KEYS, **LONG, "attention.head_count_kv": [4, 0, 2, 1]}},
        "short convolution, linear": {"keys": {**KEYS, "shortconv.l_cache": 2, **LINEAR}},
        "biases": {"keys": KEYS, "drop": ("^dense_2",)},
        "window": {"keys": {**KEYS, "attention.head_count_kv": [2, 0, 2], **WINDOW}},
        "six heads": {
            "keys": {
                **KEYS, "embedding_length": 192, "attention.head_count": 6, "attention.head_count_kv": [0, 0, 3],
                "feed_forward_length": 320,
            },
        },
    }.items()
}  # fmt: skip
