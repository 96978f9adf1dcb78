"""Gemma 4, dense: like the 31B, and like E2B and E4B."""

import numpy as np

from tests.support.any_arch import Case

# Global layers turn only some pairs: the divisors of the others are huge, as in the published files.
VALUES = {
    "rope_freqs": lambda rng, shape: np.where(np.arange(shape[0]) < shape[0] // 4, 1.0, 1e30),
    "post_ffw_norm": lambda rng, shape: rng.uniform(0.1, 0.3, shape),  # so that the table's float16 shows less
    r"\.post_norm": lambda rng, shape: rng.uniform(0.1, 0.3, shape),
    "attn_q_norm": lambda rng, shape: rng.uniform(0.1, 0.4, shape),  # there is no other scale of scores
    "layer_output_scale": lambda rng, shape: rng.uniform(0.4, 0.8, shape),
}
LOCAL, GLOBAL = True, False
KEYS = {
    "block_count": 3, "attention.sliding_window": 12, "attention.sliding_window_pattern": [LOCAL, LOCAL, GLOBAL],
    "attention.head_count": 8, "attention.head_count_kv": [4, 4, 2], "feed_forward_length": 256,
    "attention.key_length": 128, "attention.value_length": 128, "attention.key_length_swa": 64,
    "attention.value_length_swa": 64, "rope.dimension_count": 128, "rope.dimension_count_swa": 64,
    "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4, "embedding_length_per_layer_input": 0,
    "final_logit_softcapping": 2.0, "attention.shared_kv_layers": 0,
}  # fmt: skip
# The first two own their keys and values, the others read them.
SMALL = {
    **KEYS, "block_count": 5, "attention.sliding_window_pattern": [LOCAL, GLOBAL, LOCAL, GLOBAL, LOCAL],
    "attention.head_count": 4, "attention.head_count_kv": 1, "attention.shared_kv_layers": 3,
    "embedding_length_per_layer_input": 32, "feed_forward_length": [256, 256, 512, 512, 512],
}  # fmt: skip
KEEP = "rope_freqs"
DROP = (r"^output\.", "ffn_.*(exps|inp|norm_1|norm_2)", r"post_ffw_norm_|pre_ffw_norm_")
OWN_KV = r"blk\.[234]\.attn_(k|v|k_norm)\."  # of layers that read others'
CASES = {
    "keys as values in global layers": Case(
        "gemma4", keys=KEYS, drop=(*DROP, r"blk\.2\.attn_v\."), keep=KEEP, values=VALUES, gelu=True
    ),
    "shared keys and values, embeddings per layer": Case(
        "gemma4", keys=SMALL, drop=(*DROP, OWN_KV), keep=KEEP, values=VALUES, gelu=True
    ),
}
