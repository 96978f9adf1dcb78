"""Weights and bytes of one block of every GGUF type, by ggml name."""

from repack.ggml_types import GGML_TYPES

BLOCK_SIZES: dict[str, tuple[int, int]] = {name: (kind.weights, kind.size) for name, kind in GGML_TYPES.items()}
