"""Muse Glimmer."""

from tests.support.any_arch import Case
from tests.support.arch_variants import ONE, WIDE, YARN

KEYS = {
    "block_count": 5, "attention.sliding_window": 12, "logit_scale": 0.6, "final_logit_softcapping": 3.0,
    "rope.freq_base": 5e5,
}  # fmt: skip
NO_BIASES = (r"\.bias$",)
UNCAPPED = {"final_logit_softcapping": 0.0, "rope.freq_base_swa": 90.0}
CASES = {
    "usual": Case("muse-glimmer", keys=KEYS, drop=NO_BIASES),
    "fused, one wide key head, global first": Case(
        "muse-glimmer", fused=True, drop=NO_BIASES,
        keys={**KEYS, **ONE, **WIDE, "attention.sliding_window_pattern": [False, True, True], "block_count": 3},
    ),
    "biases, every second, yarn unread, scales": Case(
        "muse-glimmer", keep=r"\.scale$",
        keys={**KEYS, **YARN, **UNCAPPED, "attention.sliding_window_pattern": 2, "block_count": 2},
        values={r"\.scale$": lambda rng, shape: rng.uniform(0.5, 2, shape)},
    ),
    "cap by default, quiet blocks": Case(
        "muse-glimmer", drop=NO_BIASES,
        keys={**KEYS, "final_logit_softcapping": None, "logit_scale": 8.0, "block_count": 2},
        # so quiet that the epsilon of the norms behind them shows
        values={"ffn_down|attn_output": lambda rng, shape: 1e-3 * rng.standard_normal(shape) / shape[-1] ** 0.5},
    ),
}  # fmt: skip
