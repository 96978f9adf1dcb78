"""MLX, `affine`: 2, 3, 4, 5, 6 and 8 bits with a scale and a bias for each group, embeddings and heads too."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from converters.sources.checkpoint.entries import Found, Method, QuantizedEntry, Tensors, contradiction
from converters.sources.checkpoint.methods.fp4 import fp4_entry
from converters.sources.checkpoint.methods.integers import (
    SCALE_TYPES,
    gathered,
    integer,
    quantized_entry,
    upright_floats,
    wanted,
    words,
)
from converters.sources.checkpoint.safetensors import Entry
from converters.sources.checkpoint.stacks import Stack, cut_stack
from repack.errors import MobiusError
from repack.packed.compressed_tensors import row_stream
from repack.packed.integers import Integers

SCALES, BIASES = ".scales", ".biases"
PARTS = (".weight", SCALES, BIASES)
BITS = (2, 3, 4, 5, 6, 8)


def gather(given: Mapping[str, Any], tensors: Tensors) -> Found:
    """Quantized matrices put together; those with scales of their own are, whatever the configuration lists.

    Raises:
        MobiusError: another mode, or tensors that are not as the configuration says.
    """

    def make(stem: str) -> QuantizedEntry:
        own = given.get(stem)
        if own is False:
            raise contradiction(f"{stem} has scales, but the configuration leaves it out")
        own_given, codes = {**given, **(own if isinstance(own, Mapping) else {})}, tensors.get(f"{stem}.weight")
        if codes is None or len(codes.shape) != 3:
            return _packed(stem, tensors, own_given)
        cut = {name: cut_stack(tensors[name]) for name in (stem + part for part in PARTS) if name in tensors}
        if any(len(parts) != codes.shape[0] for parts in cut.values()):
            raise contradiction(f"{stem} has codes for {codes.shape[0]} experts, and other parts for more or fewer")
        experts = [{name: parts[expert] for name, parts in cut.items()} for expert in range(codes.shape[0])]
        return Stack(tuple(_packed(stem, one, own_given) for one in experts))

    found = gathered(tensors, SCALES, (".weight", BIASES), make)
    return {name.replace(".switch_mlp.", ".experts."): entry for name, entry in found.items()}


def _packed(stem: str, tensors: Tensors, given: Mapping[str, Any]) -> QuantizedEntry:
    if (mode := given.get("mode", "affine")) not in ("affine", "mxfp4"):
        raise MobiusError(f"MLX: mode {mode!r:.40} of {stem} cannot be read yet", "supported: affine, mxfp4")
    if mode == "mxfp4":
        return fp4_entry("MXFP4", f"{stem}.weight", stem + SCALES, tensors, "U8")
    bits, group = (integer(given, key, "MLX") for key in ("bits", "group_size"))
    if bits not in BITS or group < 1:
        raise MobiusError(f"MLX: {bits} bits in groups of {group} cannot be read", f"supported: {BITS} bits")
    codes, scales, biases = (tensors.get(stem + part) for part in (".weight", SCALES, BIASES))
    if codes is None or codes.dtype != "U32" or len(codes.shape) != 2 or 0 in codes.shape:
        raise contradiction(f"{stem}.weight is not U32 of two axes")
    rows, columns = codes.shape[0], codes.shape[1] * 32 // bits
    if codes.shape[1] * 32 % bits or columns % group:
        raise contradiction(f"{stem}: rows of {codes.shape[1]} words are no groups of {group}")
    scales = wanted(stem, SCALES, scales, SCALE_TYPES, (rows, columns // group))
    biases = wanted(stem, BIASES, biases, (scales.dtype,), scales.shape)
    stored = Integers(
        bits, partial(_stream, codes, columns, bits), upright_floats(scales), biases=upright_floats(biases)
    )
    return quantized_entry(stem, (rows, columns), group, scales.dtype, stored, [codes, scales, biases])


def _stream(codes: Entry, columns: int, bits: int, rows: Any) -> Any:
    return row_stream(words(codes), rows, columns, bits)


def _claims(given: Mapping[str, Any], _: Tensors) -> bool:
    return "quant_method" not in given and "group_size" in given and "bits" in given


MLX = Method("MLX", _claims, (SCALES,), gather)
