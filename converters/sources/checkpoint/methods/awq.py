"""AWQ: 4 bits with zero points, in the arrangements `gemm` and `gemv`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from converters.sources.checkpoint.entries import Found, MatrixEntry, Method, Tensors
from converters.sources.checkpoint.methods.integers import (
    SCALE_TYPES,
    gathered,
    group_size,
    integer,
    quantized_entry,
    turned_floats,
    upright_floats,
    wanted,
    word_matrix,
    words,
)
from repack.bits import pair_unpack
from repack.errors import MobiusError
from repack.packed.awq import turned_codes, turned_stream
from repack.packed.integers import Integers, words_as_bytes

CODES, ZEROS, SCALES = ".qweight", ".qzeros", ".scales"
PER_WORD = 8


def gather(given: Mapping[str, Any], tensors: Tensors) -> Found:
    """Quantized matrices put together.

    Raises:
        MobiusError: a variant that is not supported, or tensors that are not as the configuration says.
    """
    version = str(given.get("version", "gemm")).lower()
    layout = given.get("checkpoint_format", version)
    makers = {"gemm": _gemm, "gemv": _gemv}
    if version not in makers or layout not in makers or given.get("zero_point", True) is not True:
        raise MobiusError(f"AWQ: version {layout!r:.40} cannot be read", "supported: gemm and gemv, with zero points")
    bits, group = (integer(given, key, "AWQ") for key in ("bits", "group_size"))
    if bits != 4:
        raise MobiusError(f"AWQ: {bits} bits cannot be read", "supported: 4 bits")
    if any(name.endswith("act.scales") for name in tensors):
        raise MobiusError("AWQ: the activations are scaled too (act.scales)", "convert a GGUF of the model instead")
    return gathered(tensors, CODES, (ZEROS, SCALES), lambda stem: makers[layout](stem, tensors, group))


def _gemm(stem: str, tensors: Tensors, given_group: int) -> MatrixEntry:
    codes = word_matrix(stem, CODES, tensors)
    columns, rows = codes.shape[0], PER_WORD * codes.shape[1]
    group = group_size(stem, columns, given_group)
    groups = columns // group
    zeros = wanted(stem, ZEROS, tensors.get(stem + ZEROS), ["I32"], (groups, codes.shape[1]))
    scales = wanted(stem, SCALES, tensors.get(stem + SCALES), SCALE_TYPES, (groups, rows))
    stored = Integers(
        4, partial(turned_stream, words(codes)), turned_floats(scales), partial(turned_codes, words(zeros))
    )
    return quantized_entry(stem, (rows, columns), group, scales.dtype, stored, [codes, zeros, scales])


def _gemv(stem: str, tensors: Tensors, given_group: int) -> MatrixEntry:
    codes = word_matrix(stem, CODES, tensors)
    rows, columns = codes.shape[0], PER_WORD * codes.shape[1]
    group = group_size(stem, columns, given_group)
    groups, step = columns // group, PER_WORD * {64: 2, 32: 4}.get(group, 1)
    count = -(-groups // step) * step // PER_WORD  # words, filled up
    zeros = wanted(stem, ZEROS, tensors.get(stem + ZEROS), ["I32"], (rows, count))
    scales = wanted(stem, SCALES, tensors.get(stem + SCALES), SCALE_TYPES, (rows, PER_WORD * count))
    all_codes, all_zeros, all_scales = words(codes), words(zeros), upright_floats(scales)
    stored = Integers(
        4, lambda chosen: words_as_bytes(all_codes[chosen]), lambda chosen: all_scales(chosen)[:, :groups],
        lambda chosen: pair_unpack(words_as_bytes(all_zeros[chosen]))[:, :groups],
    )  # fmt: skip
    return quantized_entry(stem, (rows, columns), group, scales.dtype, stored, [codes, zeros, scales])


def _claims(given: Mapping[str, Any], _: Tensors) -> bool:
    return given.get("quant_method") == "awq"


AWQ = Method("AWQ", _claims, (CODES,), gather)
