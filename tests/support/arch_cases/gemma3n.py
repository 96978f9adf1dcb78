"""Gemma 3n: with as many layers as own keys, values and sparse gates, and with more."""

from tests.support.any_arch import Case
from tests.support.arch_variants import LINEAR

VALUES = {
    "post_ffw_norm": lambda rng, shape: rng.uniform(0.1, 0.3, shape),  # so that the table's float16 shows less
    r"blk\.\d+\.post_norm": lambda rng, shape: rng.uniform(0.1, 0.3, shape),
    "attn_q_norm": lambda rng, shape: rng.uniform(0.1, 0.4, shape),  # there is no other scale of scores
}
LOUD = {**VALUES, r"blk\.\d+\.post_norm": lambda rng, shape: rng.uniform(0.5, 1.5, shape)}
CAPPED = {**VALUES, "output_norm": lambda rng, shape: rng.uniform(15, 30, shape)}
LOCAL, GLOBAL = True, False
KEYS = {"block_count": 3, "attention.sliding_window": 12, "rope.freq_base": 1e6}
ONE_KEY = {"attention.head_count_kv": 1, "attention.key_length": 96, "attention.value_length": 96}
# Layers 20 and 21 read keys and values of layers 18 and 19, and their gates, as from layer 10 on, are not sparse.
DEEP = {
    **KEYS, "block_count": 22,
    "attention.sliding_window_pattern": [*[LOCAL, LOCAL, LOCAL, LOCAL, GLOBAL] * 4, LOCAL, GLOBAL],
    "embedding_length": 64, "feed_forward_length": 96, "attention.head_count": 2, "attention.head_count_kv": 1,
    "attention.key_length": 32, "attention.value_length": 32,
}  # fmt: skip
TIED, NO_BIASES = r"^output\.", r"\.bias$"
CASES = {
    "usual": Case("gemma3n", keys={**KEYS, "block_count": 5}, drop=(TIED, NO_BIASES), values=VALUES, gelu=True),
    "layers that read others' keys and values": Case(
        "gemma3n", keys=DEEP, drop=(TIED, NO_BIASES), values=VALUES, gelu=True
    ),
    "own head, capped, biases, flags": Case(
        "gemma3n", gelu=True, values=CAPPED,
        keys={**KEYS, "attention.sliding_window_pattern": [GLOBAL, LOCAL, GLOBAL], "rope.dimension_count": 32},
    ),
    "fused q, k, v, linear, one wide key head": Case(
        "gemma3n", gelu=True, values=LOUD, fused=True, drop=(TIED, NO_BIASES),
        keys={
            **KEYS, **LINEAR, **ONE_KEY, "attention.sliding_window_pattern": 2, "rope.freq_base_swa": 90.0,
            "attention.layer_norm_rms_epsilon": 0.2,  # else nothing behind a norm shows what it was scaled by
        },
    ),
}  # fmt: skip
