"""Refact."""

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, ONE, QKV_BIASES, SIX, TIED, WINDOW

ALIBI = "attention.max_alibi_bias"
UNUSED = r"rope_(freqs|factors)"
CASES = {
    "one key head": Case("refact", keys=ONE, drop=[r"\.bias"]),
    "tied, q, k, v biases": Case(
        "refact", keys={**ONE, **WINDOW, ALIBI: 2.0}, drop=[TIED, r"attn_output\.bias", r"ffn.*\.bias"]
    ),
    "fused, unused biases and factors": Case("refact", keys=EACH, keep=UNUSED, fused=True),
    "unused long factors": Case("refact", keys={"rope.scaling.type": "longrope"}, drop=[QKV_BIASES], keep=UNUSED),
    "six wide heads, longer": Case(
        "refact", keys={**SIX, "attention.key_length": 64, "attention.value_length": 64}, length=140
    ),
}
