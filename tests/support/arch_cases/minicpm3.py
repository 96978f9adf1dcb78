"""MiniCPM 3."""

from tests.support.any_arch import Case
from tests.support.arch_variants import FACTORS, LINEAR, LONGROPE, SCALED, TIED, TUNED, UNREAD, YARN

LATENT = {
    "embedding_length": 512, "attention.q_lora_rank": 256, "attention.kv_lora_rank": 256, "attention.key_length": 96,
    "attention.value_length": 128, "rope.dimension_count": 32, "attention.head_count_kv": 4,
}  # fmt: skip
SMALL = {
    **LATENT, "embedding_length": 128, "attention.q_lora_rank": 96, "attention.kv_lora_rank": 64,
    "attention.key_length": 48, "attention.value_length": None,
}  # fmt: skip
CASES = {
    "minicpm3 usual": Case("minicpm3", keys=LATENT),
    "minicpm3 tied, three layers": Case("minicpm3", keys={**SMALL, "block_count": 3}, drop=[TIED]),
    "minicpm3 wide values, narrow turn": Case(
        "minicpm3", keys={**SMALL, "attention.value_length": 72, "rope.dimension_count": 8}
    ),
    "minicpm3 linear, unread keys": Case("minicpm3", keys={**LATENT, **LINEAR, **UNREAD, **SCALED}),
    "minicpm3 yarn": Case("minicpm3", keys={**SMALL, **YARN, **TUNED}),
    "minicpm3 long factors": Case("minicpm3", keys={**LATENT, **LONGROPE}, context=512, **FACTORS),
    "minicpm3 short factors": Case("minicpm3", keys={**LATENT, **LONGROPE}, context=256, **FACTORS),
    "minicpm3 factors without a scaling": Case(
        "minicpm3", keys={**SMALL, **LONGROPE, "rope.scaling.type": None}, context=512, **FACTORS
    ),
}
