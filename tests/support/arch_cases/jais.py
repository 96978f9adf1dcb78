"""Jais."""

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, SIX, WINDOW, YARN

ALIBI = "attention.max_alibi_bias"
CASES = {
    "as converted": Case("jais", "layer", {**EACH, ALIBI: 5.0}),
    "six heads, grouped": Case("jais", "layer", {**SIX, **WINDOW, **YARN, ALIBI: 10.0}),
    "no positions": Case("jais", "layer", EACH),
}
