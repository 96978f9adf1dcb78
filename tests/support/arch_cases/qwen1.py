"""The first Qwen."""

from tests.support.any_arch import Case
from tests.support.arch_cases.llama_kin import LINEAR, TUNED, YARN

MULTI_HEAD = {"attention.head_count_kv": None, "feed_forward_length": 1024}
CASES = {
    "usual": Case("qwen", keys=MULTI_HEAD),
    "linear": Case("qwen", keys={**MULTI_HEAD, **LINEAR}),
    "yarn": Case("qwen", keys={**MULTI_HEAD, **YARN, **TUNED}),
    "partial rotary, heads counted twice": Case(
        "qwen", keys={**MULTI_HEAD, "rope.dimension_count": 24, "attention.head_count_kv": 4}
    ),
    "odd width": Case("qwen", keys={**MULTI_HEAD, "feed_forward_length": 513}),
}
