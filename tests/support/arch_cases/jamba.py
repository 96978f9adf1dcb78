"""Jamba without experts: Mamba's state spaces beside attention."""

from tests.support.any_arch import Case
from tests.support.arch_cases.mamba import KEYS, ODD, SPACES
from tests.support.arch_variants import TIED

HYBRID = {
    **KEYS, "feed_forward_length": 512, "attention.head_count": 4, "attention.head_count_kv": [0, 2, 0],
}  # fmt: skip
ENDS = {"block_count": 4, "attention.head_count_kv": [1, 0, 0, 4]}
NO_BIASES = (r"attn_[qkv]\.bias",)
CASES = {
    name: Case("jamba", **{"keys": HYBRID, "drop": NO_BIASES, "values": SPACES, **options})
    for name, options in {
        "usual": {},
        "attention first and last, tied": {"keys": {**HYBRID, **ENDS}, "drop": (*NO_BIASES, TIED)},
        "biases": {"drop": ()},
        "odd sizes": {"keys": {**HYBRID, **ODD, "attention.head_count": 6}},
    }.items()
}
