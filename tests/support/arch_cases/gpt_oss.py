"""gpt-oss."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import QKV_BIASES, YARN

KEYS = {
    "expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 256, "attention.sliding_window": 8,
    "attention.key_length": 64, "attention.value_length": 64, "block_count": 3,
}  # fmt: skip
VALUES = {
    **SPREAD,
    # some sinks outweigh all keys, some count for nothing
    "attn_sinks": lambda rng, shape: rng.uniform(-1, 4, shape),
    # some gates and ups reach the bound of 7
    r"ffn_(gate|up)_exps\.weight": lambda rng, shape: 3 * rng.standard_normal(shape) / shape[-1] ** 0.5,
}
CASES = {
    "usual": Case("gpt-oss", keys=KEYS, values=VALUES),
    "yarn, fused q, k, v, one expert of many": Case(
        "gpt-oss",
        keys={**KEYS, **YARN, "attention.head_count_kv": 1, "expert_count": 17, "expert_used_count": 1},
        values=VALUES,
        fused=True,
    ),
    "no biases of q, k, v, all layers local, all experts": Case(
        "gpt-oss",
        keys={**KEYS, "attention.sliding_window_pattern": 0, "expert_used_count": 5, "attention.head_count": 8},
        values=VALUES,
        drop=[QKV_BIASES],
    ),
    "64 heads": Case(
        "gpt-oss",
        keys={**KEYS, "attention.head_count": 64, "attention.head_count_kv": 8, "block_count": 2},
        values=VALUES,
    ),
    "local layers turn otherwise": Case(
        "gpt-oss", keys={**KEYS, "attention.sliding_window_pattern": 3, "rope.freq_base_swa": 500.0}, values=VALUES
    ),
}
