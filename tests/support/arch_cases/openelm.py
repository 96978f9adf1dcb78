"""OpenELM."""

from tests.support.any_arch import Case
from tests.support.arch_variants import LINEAR, TUNED, UNREAD, YARN

HEAD = {"attention.key_length": 64, "attention.value_length": 64}
GROWING = {
    **HEAD, "block_count": 3, "attention.head_count": [4, 6, 8], "attention.head_count_kv": [1, 2, 2],
    "feed_forward_length": [256, 512, 768],
}  # fmt: skip
CASES = {
    "openelm usual": Case("openelm", keys=GROWING),
    "openelm shrinking": Case(
        "openelm",
        keys={
            **GROWING,
            "attention.head_count": [9, 3, 2],
            "attention.head_count_kv": [3, 3, 1],
            "feed_forward_length": [96, 64, 32],
        },
    ),
    "openelm equal layers, head by default": Case("openelm"),
    "openelm narrow heads, partial": Case(
        "openelm",
        keys={**GROWING, "attention.key_length": 40, "attention.value_length": 40, "rope.dimension_count": 20},
    ),
    "openelm unused scales": Case("openelm", keys=GROWING, keep=r"attn_(qkv|output)\.scale$"),
    "openelm linear, unread keys": Case("openelm", keys={**GROWING, **LINEAR, **UNREAD}),
    "openelm yarn, partial": Case("openelm", keys={**GROWING, **YARN, **TUNED, "rope.dimension_count": 32}),
}
