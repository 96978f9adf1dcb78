"""Qwen 2 and 3: what tests/converters/archs/test_archs.py does not have."""

from tests.support.any_arch import Case

NO_MORE_BIASES = (r"attn_output\.bias", r"ffn_\w+\.bias")
CASES = {
    "biases": Case("qwen2", drop=NO_MORE_BIASES),
    "fused q, k, v, tied": Case("qwen2", drop=(*NO_MORE_BIASES, r"^output\.(weight|bias)"), fused=True),
    "yarn": Case("qwen2", drop=NO_MORE_BIASES, keys={
        "rope.scaling.type": "yarn", "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 32,
    }),
    "wide heads": Case("qwen3", drop=NO_MORE_BIASES, keys={
        "attention.key_length": 128, "attention.value_length": 128,
    }),
    "fused q, k, v": Case("qwen3", drop=(*NO_MORE_BIASES, r"attn_[qkv]\.bias"), fused=True),
}  # fmt: skip
