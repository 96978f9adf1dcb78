"""MiniCPM 1 and 4."""

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, FACTORS, LONGROPE, SCALED, UNREAD, llama_like

ZEROS = {"embedding_scale": 0.0, "residual_scale": 0.0, "logit_scale": 3.0}
CASES = {
    **llama_like("minicpm", freqs=True, keys=SCALED),
    "minicpm multipliers by default": Case("minicpm", keys={"embedding_length": 512}, drop=BIASES),
    "minicpm multipliers by default, three layers": Case(
        "minicpm", keys={"embedding_length": 128, "block_count": 3}, drop=BIASES
    ),
    "minicpm multipliers of zero": Case("minicpm", keys=ZEROS, drop=BIASES),
    "minicpm positions, unread keys": Case(
        "minicpm", keys={**SCALED, **UNREAD, "rope.scaling.finetuned": False}, drop=BIASES
    ),
    "minicpm long factors": Case("minicpm", keys={**SCALED, **LONGROPE}, context=512, **FACTORS),
    "minicpm short factors": Case("minicpm", keys={**SCALED, **LONGROPE}, context=256, **FACTORS),
}
