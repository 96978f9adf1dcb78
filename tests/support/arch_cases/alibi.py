"""Models with ALiBi."""

from tests.support.any_arch import Case
from tests.support.arch_cases.gpt2 import EACH, NO_BIASES, ONE, SIX, TIED, WINDOW, YARN

ALIBI = "attention.max_alibi_bias"
CLAMP = "attention.clamp_kqv"
MPT = {**EACH, ALIBI: 3.0}
LEAN = [r"\.bias", "position_embd", "attn_._norm", "scales"]  # what MPT's files do not have
UNUSED = r"rope_(freqs|factors)"

CASES = {
    "usual": Case("bloom", "layer", EACH, drop=[TIED], gelu=True),
    "untied, grouped, unread keys": Case("bloom", "layer", {**YARN, **WINDOW, ALIBI: 2.0}, gelu=True),
    "six heads, longer": Case("bloom", "layer", SIX, gelu=True, length=140),
    "lean, tied": Case("mpt", "layer", MPT, drop=[*LEAN, TIED], gelu=True),
    "clamped, grouped": Case("mpt", "layer", {ALIBI: 12.0, CLAMP: 0.4}, drop=LEAN, gelu=True),
    "clamped, biases": Case("mpt", "layer", {ALIBI: 8.0, CLAMP: 0.5}, drop=["scales", "position_embd"], gelu=True),
    "learned positions only": Case("mpt", "layer", EACH, drop=[*LEAN[2:], r"\.bias"], gelu=True),
    "learned positions, clamped": Case(
        "mpt", "layer", {CLAMP: 0.4}, drop=[*LEAN[2:], r"(norm|output|ffn_.*)\.bias"], gelu=True
    ),
    "both positions, divisors, unused norm": Case("mpt", "layer", MPT, gelu=True),
    "divisors in one layer": Case("mpt", "layer", {ALIBI: -1.0, **YARN, **WINDOW}, drop=[r"blk\.1.*scales"], gelu=True),
    "six heads, no power of two": Case("mpt", "layer", {**SIX, ALIBI: 3.0}, drop=LEAN, gelu=True),
    "as converted": Case("jais", "layer", {**EACH, ALIBI: 5.0}),
    "six heads, grouped": Case("jais", "layer", {**SIX, **WINDOW, **YARN, ALIBI: 10.0}),
    "no positions": Case("jais", "layer", EACH),
    "one key head": Case("refact", keys=ONE, drop=[r"\.bias"]),
    "tied, q, k, v biases": Case(
        "refact", keys={**ONE, **WINDOW, ALIBI: 2.0}, drop=[TIED, r"attn_output\.bias", r"ffn.*\.bias"]
    ),
    "fused, unused biases and factors": Case("refact", keys=EACH, keep=UNUSED, fused=True),
    "unused long factors": Case("refact", keys={"rope.scaling.type": "longrope"}, drop=[NO_BIASES], keep=UNUSED),
    "six wide heads, longer": Case(
        "refact", keys={**SIX, "attention.key_length": 64, "attention.value_length": 64}, length=140
    ),
}
