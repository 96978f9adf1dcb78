"""Command R."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, LINEAR, TUNED, UNREAD, YARN

SCALED_LOGITS = {"logit_scale": 2.5}
PARTIAL = {"rope.dimension_count": 32}
DEEP = {
    "embedding_length": 64, "feed_forward_length": 96, "attention.head_count": 4, "attention.head_count_kv": 2,
    "block_count": 64,
}  # fmt: skip
CASES = {
    "command-r usual": Case("command-r", "layer", SCALED_LOGITS, drop=BIASES),
    "command-r biases, unscaled": Case("command-r", "layer"),
    "command-r scale of zero, fused": Case("command-r", "layer", {"logit_scale": 0.0}, fused=True),
    "command-r partial, one key head": Case(
        "command-r", "layer", {**SCALED_LOGITS, **PARTIAL, "attention.head_count_kv": 1}, drop=BIASES
    ),
    "command-r linear": Case("command-r", "layer", {**SCALED_LOGITS, **LINEAR}, drop=BIASES),
    "command-r yarn": Case("command-r", "layer", {**SCALED_LOGITS, **YARN, **TUNED, **PARTIAL}),
    "command-r scaling none, unread keys": Case(
        "command-r", "layer", {**SCALED_LOGITS, **LINEAR, **UNREAD, "rope.scaling.type": "none"}, drop=BIASES
    ),
    "command-r plus": Case("command-r", "layer", {**SCALED_LOGITS, **DEEP}, drop=BIASES),
    "command-r plus, fused, partial": Case(
        "command-r", "layer", {**DEEP, "rope.dimension_count": 8, "attention.head_count_kv": 4}, fused=True
    ),
}
