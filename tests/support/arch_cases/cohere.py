"""Command R and its successor."""

from tests.support.any_arch import Case
from tests.support.arch_cases.llama_kin import BIASES, LINEAR, TUNED, UNREAD, YARN

SCALED = {"logit_scale": 2.5}
LOCAL = {**SCALED, "block_count": 5, "attention.sliding_window": 12}  # the fourth layer is global
PARTIAL = {"rope.dimension_count": 32}
DEEP = {
    "embedding_length": 64, "feed_forward_length": 96, "attention.head_count": 4, "attention.head_count_kv": 2,
    "block_count": 64,
}  # fmt: skip
CASES = {
    "command-r usual": Case("command-r", "layer", SCALED, drop=BIASES),
    "command-r biases, unscaled": Case("command-r", "layer"),
    "command-r scale of zero, fused": Case("command-r", "layer", {"logit_scale": 0.0}, fused=True),
    "command-r partial, one key head": Case(
        "command-r", "layer", {**SCALED, **PARTIAL, "attention.head_count_kv": 1}, drop=BIASES
    ),
    "command-r linear": Case("command-r", "layer", {**SCALED, **LINEAR}, drop=BIASES),
    "command-r yarn": Case("command-r", "layer", {**SCALED, **YARN, **TUNED, **PARTIAL}),
    "command-r scaling none, unread keys": Case(
        "command-r", "layer", {**SCALED, **LINEAR, **UNREAD, "rope.scaling.type": "none"}, drop=BIASES
    ),
    "command-r plus": Case("command-r", "layer", {**SCALED, **DEEP}, drop=BIASES),
    "command-r plus, fused, partial": Case(
        "command-r", "layer", {**DEEP, "rope.dimension_count": 8, "attention.head_count_kv": 4}, fused=True
    ),
    "cohere2 usual": Case("cohere2", "layer", LOCAL, drop=BIASES),
    "cohere2 biases": Case("cohere2", "layer", LOCAL),
    "cohere2 every second, fused": Case(
        "cohere2", "layer", {**LOCAL, "attention.sliding_window_pattern": 2}, fused=True
    ),
    "cohere2 flags, unscaled": Case(
        "cohere2",
        "layer",
        {**LOCAL, "logit_scale": 0.0, "attention.sliding_window_pattern": [False, True, False, False, True]},
        drop=BIASES,
    ),
    "cohere2 partial, one key head": Case(
        "cohere2", "layer", {**LOCAL, **PARTIAL, "attention.head_count_kv": 1}, drop=BIASES
    ),
    "cohere2 small heads": Case("cohere2", "layer", {**LOCAL, "attention.head_count": 16}, drop=BIASES),
    "cohere2 linear, unread base and scale": Case(
        "cohere2", "layer", {**LOCAL, **LINEAR, "rope.freq_base_swa": 90.0, "attention.scale": 0.3}, drop=BIASES
    ),
    "cohere2 yarn": Case("cohere2", "layer", {**LOCAL, **YARN, **TUNED}),
    "cohere2 scaled products": Case("cohere2", "layer", LOCAL, drop=BIASES, keep=r"\.scale$"),
}
