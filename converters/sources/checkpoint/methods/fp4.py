"""Matrices of FP4 as the entries of a folder: MXFP4 and NVFP4 of several methods."""

import numpy as np

from converters.sources.checkpoint.entries import MatrixEntry, Tensors, contradiction
from converters.sources.checkpoint.safetensors import Entry
from repack.packed.fp4 import BLOCKS, fp4_matrix

PAIRS_TYPES = ("U8", "U32")


def fp4_entry(kind: str, codes_name: str, scales_name: str, tensors: Tensors, scale_type: str) -> MatrixEntry:
    """Of a tensor of pairs (in bytes or words) and one of scales.

    Raises:
        MobiusError: one is missing, or of another type or shape than the other asks for.
    """
    codes, scales = tensors.get(codes_name), tensors.get(scales_name)
    if codes is None or codes.dtype not in PAIRS_TYPES or len(codes.shape) != 2 or 0 in codes.shape:
        raise contradiction(f"{codes_name} is no {kind} matrix of bytes or words")
    pairs = codes.data.reshape(codes.shape[0], -1)
    shape = (codes.shape[0], 2 * pairs.shape[1] // BLOCKS[kind])
    if scales is None or scales.dtype != scale_type or scales.shape != shape or 2 * pairs.shape[1] % BLOCKS[kind]:
        raise contradiction(f"{codes_name}: {scales_name} is missing, or not {scale_type} {list(shape)}")
    whole = fp4_matrix(codes_name, kind, pairs, scales.data.reshape(shape))
    return MatrixEntry(whole, kind, codes.data.size + scales.data.size)


def global_scale(name: str, entry: Entry | None, divides: bool) -> Entry:
    """The second-level scale as what multiplies the result: float32 [1].

    Raises:
        MobiusError: it is missing, or no positive number.
    """
    if entry is None or entry.dtype != "F32" or entry.data.size != 4:
        raise contradiction(f"{name} is missing, or not one F32")
    value = np.float64(np.ascontiguousarray(entry.data).view("<f4")[0])
    if not 0 < value < np.inf:
        raise contradiction(f"{name} is {value:g}")
    found = np.array([1 / value if divides else value], np.float64).astype(np.float32)
    return Entry("F32", (1,), found.view(np.uint8))
