"""Command R7B and Command A."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, LINEAR, TUNED, YARN

LOCAL = {"logit_scale": 2.5, "block_count": 5, "attention.sliding_window": 12}  # the fourth layer is global
PARTIAL = {"rope.dimension_count": 32}
CASES = {
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
