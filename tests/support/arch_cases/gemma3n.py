"""Gemma 3n, of fewer layers than those with caches and sparse gates of their own, and of more."""

from tests.support.any_arch import Case

VALUES = {
    "post_ffw_norm": lambda rng, shape: rng.uniform(0.1, 0.3, shape),  # so that the table's float16 shows less
    r"blk\.\d+\.post_norm": lambda rng, shape: rng.uniform(0.1, 0.3, shape),
    "attn_q_norm": lambda rng, shape: rng.uniform(0.1, 0.4, shape),  # there is no other scale of scores
}
KEYS = {"block_count": 3, "attention.sliding_window": 12, "rope.freq_base": 1e6}
DROP = (r"^output\.", r"\.bias$")
CASES = {"usual": Case("gemma3n", keys=KEYS, drop=DROP, values=VALUES, gelu=True)}
