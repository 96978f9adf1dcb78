"""Jamba, without experts and with: Mamba's state spaces beside attention."""

from tests.support.any_arch import Case
from tests.support.arch_cases.mamba import KEYS, ODD, SPACES
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import TIED

HYBRID = {
    **KEYS, "feed_forward_length": 512, "attention.head_count": 4, "attention.head_count_kv": [0, 2, 0],
}  # fmt: skip
ENDS = {"block_count": 4, "attention.head_count_kv": [1, 0, 0, 4]}
# The middle layer has experts, the others are dense.
MIXED = {**HYBRID, "expert_count": 6, "expert_used_count": 2}
DENSE = {
    f"blk.{layer}.ffn_{part}.weight": shape
    for layer in (0, 2)
    for part, shape in {"gate": (512, 256), "up": (512, 256), "down": (256, 512)}.items()
}
NO_BIASES = (r"attn_[qkv]\.bias",)
CASES = {
    name: Case("jamba", **{"keys": HYBRID, "drop": NO_BIASES, "values": SPACES, **options})
    for name, options in {
        "usual": {},
        "attention first and last, tied": {"keys": {**HYBRID, **ENDS}, "drop": (*NO_BIASES, TIED)},
        "biases": {"drop": ()},
        "experts in one layer": {
            "keys": MIXED,
            "drop": (*NO_BIASES, r"blk\.[02]\.ffn_(gate_inp|.*_exps)"),
            "untold_tensors": DENSE,
            "values": {**SPACES, **SPREAD},
        },
        "three experts in each layer": {
            "keys": {**MIXED, "expert_count": 9, "expert_used_count": 3},
            "values": {**SPACES, **SPREAD},
        },
        "odd sizes": {"keys": {**HYBRID, **ODD, "attention.head_count": 6}},
    }.items()
}
