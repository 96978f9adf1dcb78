"""EXAONE 3 and 4."""

from typing import Any

from tests.support.any_arch import Case
from tests.support.arch_variants import BIASES, FREQS, LINEAR, NEXT_TOKEN, UNREAD, llama_like

THIN: dict[str, Any] = {
    "block_count": 64, "embedding_length": 64, "feed_forward_length": 96, "attention.sliding_window": 12,
}  # fmt: skip
FLAGS = [i % 3 == 0 for i in range(64)]
CASES = {
    **llama_like("exaone", freqs=True),
    **llama_like("exaone4", freqs=True, wide=False),
    "exaone4 with a block for the next token": Case("exaone4", **NEXT_TOKEN),
    "exaone4 window in another size": Case(
        "exaone4", keys={**UNREAD, "attention.scale": None, "rope.freq_base_swa": 100.0}, drop=BIASES
    ),
    "exaone4 of 32B": Case("exaone4", keys={**THIN, "rope.freq_base_swa": 100.0}, drop=BIASES),
    "exaone4 of 32B, every second layer": Case(
        "exaone4", keys={**THIN, "attention.sliding_window_pattern": 2}, fused=True, **FREQS
    ),
    "exaone4 of 32B, flags": Case(
        "exaone4", keys={**THIN, "attention.sliding_window_pattern": FLAGS, **LINEAR}, drop=BIASES
    ),
    "exaone4 of 32B, wide window": Case("exaone4", keys={**THIN, "attention.sliding_window": None}, drop=BIASES),
}
