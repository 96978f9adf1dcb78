"""Random valid blocks of every quantized type, and what the reference dequantizers say of them."""

import gguf
import numpy as np
import numpy.typing as npt

# Byte offsets of the float16 fields in a block.
FLOAT16_FIELDS = {
    "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,),
    "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
}  # fmt: skip


def random_blocks(
    type_name: str, rows: int, blocks: int, seed: int = 0, scales: npt.NDArray[np.float16] | None = None
) -> npt.NDArray[np.uint8]:
    """uint8 [rows, blocks * bytes]: random codes and sub-scales, float16 fields normal or drawn from `scales`."""
    rng = np.random.default_rng([seed, rows, blocks])
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[type_name]][1]
    raw = rng.integers(0, 256, (rows * blocks, size), dtype=np.uint8)
    for offset in FLOAT16_FIELDS[type_name]:
        if scales is None:
            field = rng.normal(0, 0.02, len(raw)).astype(np.float16)
        else:
            field = rng.choice(scales, len(raw))
        raw[:, offset : offset + 2] = field[:, None].view(np.uint8)
    return raw.reshape(rows, blocks * size)


def columns_of(type_name: str, blocks: int) -> int:
    """Weights in a row of `blocks` GGUF blocks."""
    return blocks * int(gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[type_name]][0])


def reference(raw: npt.NDArray[np.uint8], type_name: str) -> npt.NDArray[np.float32]:
    """float32 [rows, columns] by the `gguf` package."""
    return gguf.dequantize(raw, gguf.GGMLQuantizationType[type_name])
