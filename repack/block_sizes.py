"""Weights and bytes of one block of every GGUF type, by ggml name."""

from gguf import GGML_QUANT_SIZES

BLOCK_SIZES: dict[str, tuple[int, int]] = {kind.name: (block, size) for kind, (block, size) in GGML_QUANT_SIZES.items()}
# Newer than some supported releases of `gguf`: one float16 scale, then 1 or 2 bits per weight.
BLOCK_SIZES.setdefault("Q1_0", (128, 18))
BLOCK_SIZES.setdefault("Q2_0", (64, 18))
