"""Nemotron H, whose layers are one block each."""

from tests.support.any_arch import Case
from tests.support.arch_cases.mamba2 import FADING, MANY, ODD, ONE, SCALES, SPACES
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import LINEAR, TIED, UNREAD

KEYS = {  # space, feed-forward, attention, feed-forward, space
    **SPACES, "block_count": 5, "attention.head_count_kv": [0, 0, 2, 0, 0],
    "feed_forward_length": [0, 512, 0, 512, 0], "attention.layer_norm_epsilon": 1e-2,
}  # fmt: skip
# Attention first; widths that differ; key/value heads where there is a width count for nothing.
MIXED = {
    "block_count": 4, "attention.head_count_kv": [1, 0, 2, 0], "feed_forward_length": [0, 0, 256, 384],
    "attention.key_length": 32, "attention.value_length": 32,
}  # fmt: skip
NO_BIASES = (r"(attn_.*|ffn_.*)\.bias",)
MIXTURE = {
    **KEYS, "expert_count": 6, "expert_used_count": 2, "expert_feed_forward_length": 160,
    "expert_shared_feed_forward_length": 224,
}  # fmt: skip
CHOSEN = {**FADING, **SPREAD, "exp_probs_b": lambda rng, shape: rng.normal(0, 0.3, shape)}
SCALED = {"expert_weights_norm": True, "expert_weights_scale": 2.5, "expert_shared_count": 1}
CASES = {
    "experts": Case("nemotron_h_moe", keys={**MIXTURE, **SCALED}, values=CHOSEN, drop=(*NO_BIASES, "ffn_latent")),
    "experts, weights as they are": Case(
        "nemotron_h_moe", keys={**MIXTURE, "expert_used_count": 3}, values=CHOSEN, drop=(*NO_BIASES, "ffn_latent", TIED)
    ),
    "experts of fewer channels": Case(
        "nemotron_h_moe", keys={**MIXTURE, **SCALED, "moe_latent_size": 96}, values=CHOSEN, drop=NO_BIASES
    ),
    "experts, scales": Case(
        "nemotron_h_moe",
        keys={**MIXTURE, **SCALED},
        values={**SCALES, **CHOSEN},
        drop=(*NO_BIASES, "ffn_latent"),
        keep=r"\.scale$",
    ),
    "experts by the other name, none": Case("nemotron_h_moe", keys=KEYS, values=FADING, drop=NO_BIASES),
    "usual": Case("nemotron_h", keys=KEYS, values=FADING, drop=NO_BIASES),
    "all biases": Case("nemotron_h", keys=KEYS, values=FADING),
    "attention first, two widths, small heads": Case(
        "nemotron_h", keys={**KEYS, **MIXED}, values=FADING, drop=NO_BIASES
    ),
    "one group, large states, tied, keys of positions": Case(
        "nemotron_h", keys={**KEYS, **ONE, **LINEAR, **UNREAD}, values=FADING, drop=(*NO_BIASES, TIED)
    ),
    "as many groups as heads, fused": Case(
        "nemotron_h", keys={**KEYS, **MANY}, values=FADING, drop=NO_BIASES, fused=True
    ),
    "odd sizes": Case(
        "nemotron_h",
        keys={**KEYS, **ODD, "attention.key_length": 40, "attention.value_length": 40},
        values=FADING,
        drop=NO_BIASES,
    ),
    "scales": Case("nemotron_h", keys=KEYS, values=SCALES, drop=NO_BIASES, keep=r"\.scale$"),
    "two epsilons": Case(
        "nemotron_h", keys={**KEYS, "attention.layer_norm_epsilon": 0.5}, values=FADING, drop=NO_BIASES
    ),
    "the other epsilon alone": Case(
        "nemotron_h", keys={**KEYS, "attention.layer_norm_rms_epsilon": None}, values=FADING, drop=NO_BIASES
    ),
}
