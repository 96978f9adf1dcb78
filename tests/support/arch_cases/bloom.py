"""BLOOM."""

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, SIX, TIED, WINDOW, YARN

ALIBI = "attention.max_alibi_bias"
CASES = {
    "usual": Case("bloom", "layer", EACH, drop=[TIED], gelu=True),
    "untied, grouped, unread keys": Case("bloom", "layer", {**YARN, **WINDOW, ALIBI: 2.0}, gelu=True),
    "six heads, longer": Case("bloom", "layer", SIX, gelu=True, length=140),
}
