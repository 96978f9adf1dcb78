"""MPT."""

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, SIX, TIED, WINDOW, YARN

ALIBI = "attention.max_alibi_bias"
CLAMP = "attention.clamp_kqv"
MPT = {**EACH, ALIBI: 3.0}
LEAN = [r"\.bias", "position_embd", "attn_._norm", "scales"]  # what MPT's files do not have
CASES = {
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
}
