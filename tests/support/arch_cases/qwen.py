"""Qwen 1, 2 and 3: what tests/converters/archs/test_archs.py does not have."""

from tests.support.any_arch import Case
from tests.support.arch_variants import LINEAR, TUNED, YARN

MULTI_HEAD = {"attention.head_count_kv": None, "feed_forward_length": 1024}
NO_MORE_BIASES = (r"attn_output\.bias", r"ffn_\w+\.bias")
CASES = {
    "usual": Case("qwen", keys=MULTI_HEAD),
    "linear": Case("qwen", keys={**MULTI_HEAD, **LINEAR}),
    "yarn": Case("qwen", keys={**MULTI_HEAD, **YARN, **TUNED}),
    "partial rotary, heads counted twice": Case(
        "qwen", keys={**MULTI_HEAD, "rope.dimension_count": 24, "attention.head_count_kv": 4}
    ),
    "odd width": Case("qwen", keys={**MULTI_HEAD, "feed_forward_length": 513}),
    "biases": Case("qwen2", drop=NO_MORE_BIASES),
    "fused q, k, v, tied": Case("qwen2", drop=(*NO_MORE_BIASES, r"^output\.(weight|bias)"), fused=True),
    "yarn, biases of q, k, v": Case("qwen2", drop=NO_MORE_BIASES, keys=YARN),
    "wide heads": Case("qwen3", drop=NO_MORE_BIASES, keys={
        "attention.key_length": 128, "attention.value_length": 128,
    }),
    "fused q, k, v": Case("qwen3", drop=(*NO_MORE_BIASES, r"attn_[qkv]\.bias"), fused=True),
}  # fmt: skip
