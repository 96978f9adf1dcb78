"""Random valid blocks of every quantized type, and what the reference dequantizers say of them."""

from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

from repack.quant_type import BLOCK_SIZES
from tests.support.ggml import ggml_dequantize

# Byte offsets of the float16 fields in a block; IQ1_M, MXFP4 and NVFP4 keep their scales otherwise.
FLOAT16_FIELDS: dict[str, tuple[int, ...]] = {
    "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,),
    "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
    "IQ4_NL": (0,), "IQ4_XS": (0,), "IQ3_S": (0,), "IQ3_XXS": (0,), "IQ2_S": (0,), "IQ2_XS": (0,), "IQ2_XXS": (0,),
    "IQ1_S": (0,), "IQ1_M": (), "TQ1_0": (52,), "TQ2_0": (64,), "Q1_0": (0,), "Q2_0": (0,), "MXFP4": (), "NVFP4": (),
}  # fmt: skip
GGML_ONLY = ("Q1_0", "Q2_0")  # types that the gguf package does not dequantize


def random_blocks(
    type_name: str, rows: int, blocks: int, seed: int = 0, scales: npt.NDArray[np.float16] | None = None
) -> npt.NDArray[np.uint8]:
    """uint8 [rows, blocks * bytes]: random codes and sub-scales, float16 fields normal or drawn from `scales`."""
    rng = np.random.default_rng([seed, rows, blocks])
    size = BLOCK_SIZES[type_name][1]
    raw = rng.integers(0, 256, (rows * blocks, size), dtype=np.uint8)

    def field() -> Any:
        if scales is not None:
            return rng.choice(scales, len(raw))
        return rng.normal(0, 0.02, len(raw)).astype(np.float16)

    for offset in FLOAT16_FIELDS[type_name]:
        raw[:, offset : offset + 2] = field()[:, None].view(np.uint8)
    if type_name == "IQ1_M":  # a nibble of the scale on top of each word
        words = raw[:, 48:56].copy().view("<u2")
        bits = field().view(np.uint16)[:, None] >> np.array([0, 4, 8, 12], np.uint16)
        raw[:, 48:56] = ((words & 0x0FFF) | ((bits & 15) << 12)).view(np.uint8)
    if type_name == "MXFP4":  # 253 and above overflow float32 with the largest codes
        raw[:, 0] = rng.integers(100, 140, len(raw)) if scales is None else rng.integers(0, 253, len(raw))
    return raw.reshape(rows, blocks * size)


def columns_of(type_name: str, blocks: int) -> int:
    """Weights in a row of `blocks` GGUF blocks."""
    return blocks * BLOCK_SIZES[type_name][0]


def reference(raw: npt.NDArray[np.uint8], type_name: str) -> npt.NDArray[np.float32]:
    """float32 [rows, columns] by the `gguf` package, or by ggml itself for types that it lacks."""
    if type_name in GGML_ONLY:
        return ggml_dequantize(raw, type_name)
    return gguf.dequantize(raw, gguf.GGMLQuantizationType[type_name])
