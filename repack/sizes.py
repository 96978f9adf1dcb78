"""Bits per weight of each type, in the file and in either storage."""

from repack.block_sizes import BLOCK_SIZES
from repack.quant_type import QuantType


def bits_in_file(type_name: str) -> float:
    """As the GGUF stores it."""
    weights, nbytes = BLOCK_SIZES[type_name]
    return 8 * nbytes / weights


def bits_stored(quant: QuantType, storage: str) -> float:
    """In a float32 graph: `small` holds the planes, `fast` the operator's codes, scales and offsets."""
    if storage == "small":
        return 8 * sum(p.nbytes for p in quant.planes.values()) / quant.gguf_block[0]
    scale_bits = 16 if quant.float16_scale else 32
    offset_bits = 32 if quant.offset is not None else 0
    return quant.bits + (scale_bits + offset_bits) / quant.block_size


def bits_in_memory(quant: QuantType) -> float:
    """What the operators read on a float32 graph: codes, float32 scales and offsets."""
    return quant.bits + 32 * (1 + (quant.offset is not None)) / quant.block_size
