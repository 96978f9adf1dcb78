"""StarCoder 1 and 2."""

from tests.support.any_arch import Case
from tests.support.arch_variants import EACH, LINEAR, ONE, QKV_BIASES, SIX, TIED, WINDOW, YARN

CASES = {
    "one key head": Case("starcoder", "layer", ONE, gelu=True),
    "one key head, tied": Case("starcoder", "layer", ONE, drop=[TIED], gelu=True),
    "key head per query, rotary and window keys": Case("starcoder", "layer", {**EACH, **LINEAR, **WINDOW}, gelu=True),
    "biases, tied": Case("starcoder2", "layer", drop=[TIED], gelu=True),
    "untied without q, k, v biases": Case("starcoder2", "layer", drop=[QKV_BIASES], gelu=True),
    "fused": Case("starcoder2", "layer", fused=True, gelu=True),
    "linear": Case("starcoder2", "layer", LINEAR, gelu=True),
    "yarn, unread window": Case("starcoder2", "layer", {**YARN, **WINDOW, **SIX}, gelu=True),
}
