"""Llama 4."""

from tests.support.any_arch import Case
from tests.support.arch_cases.qwen_moe import SPREAD
from tests.support.arch_variants import BIASES, FREQS, LINEAR, TIED

KEYS = {
    "expert_count": 5, "expert_used_count": 2, "expert_feed_forward_length": 256, "interleave_moe_layer_step": 1,
    "block_count": 4,
}  # fmt: skip
SATURATED = {
    "ffn_gate_inp": lambda rng, shape: rng.standard_normal(shape) * 30 / shape[-1] ** 0.5
}  # many sigmoids are 1
CASES = {
    "usual": Case("llama4", keys=KEYS, values=SATURATED, drop=BIASES),
    "every second layer dense, one of many, tied": Case(
        "llama4",
        keys={**KEYS, "interleave_moe_layer_step": 2, "expert_count": 17, "expert_used_count": 1, **LINEAR},
        values=SPREAD,
        drop=[TIED, *BIASES],
    ),
    "factors, biases, every second layer global by another base": Case(
        "llama4",
        keys={**KEYS, "attention.sliding_window_pattern": 2, "rope.freq_base_swa": 500.0,
              "attention.sliding_window": 16},
        keep="rope_freqs",
        values={**SPREAD, **FREQS["values"]},
    ),
    "unnormed": Case(
        "llama4", keys={**KEYS, "expert_count": 128, "expert_feed_forward_length": 32}, values=SPREAD,
        drop=BIASES,
    ),
}  # fmt: skip
