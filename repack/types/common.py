"""Decoders that several types share."""

from collections.abc import Callable
from typing import Any

from repack.bits import U8, bit_table
from repack.ops import Ops
from repack.quant_type import BlockShape, Decoder, Planes

# The fifth bit of a 5-bit code q, placed so that low nibble | table entry = q + 112: around the 8-bit zero
# point 128 this is q - 16.
HIGH_BIT = bit_table(1, [112, 128])


def flat_codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """Codes that are stored as the operator wants them."""
    return ops.reshape(planes["codes"], (shape.rows, shape.blocks, -1))


def five_bit_codes(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """A 4-bit plane and a 1-bit plane -> q + 112."""
    low = ops.to_uint8(ops.reshape(planes["low"], (shape.rows, shape.blocks, 4, 8)))
    high = ops.gather(HIGH_BIT, ops.reshape(planes["high"], (shape.rows, shape.blocks, 4)))
    return ops.reshape(ops.bit_or(low, high), (shape.rows, shape.blocks, 32))


def gathered_codes(plane: str, table: Callable[[], U8]) -> Decoder:
    """Codes that are rows of a table, named by the elements of one plane in weight order."""

    def decode(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
        return ops.reshape(ops.gather(table(), planes[plane]), (shape.rows, shape.blocks, -1))

    return decode


def per_block(ops: Ops[Any], plane: Any, shape: BlockShape) -> Any:
    """One float16 per operator block."""
    return ops.reshape(ops.to_float(plane), (shape.rows, shape.blocks))


def plane_d(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
    """The block's own scale."""
    return per_block(ops, planes["d"], shape)


def under(ops: Ops[Any], sub: Any, super_scale: Any, shape: BlockShape) -> Any:
    """Float sub-scales [rows, n, k] times a float16 super-scale [rows, n, 1]."""
    return ops.reshape(ops.mul(sub, ops.to_float(super_scale)), (shape.rows, shape.blocks))


def sub_scaled(ops: Ops[Any], sub: Any, super_scale: Any, shape: BlockShape) -> Any:
    """Integer sub-scales [rows, n, k] times a float16 super-scale [rows, n, 1]."""
    return under(ops, ops.to_float(sub), super_scale, shape)


# Bits 4-5 of a number whose low nibble is stored apart.
HIGH_PAIR = bit_table(2, [0, 16, 32, 48])


def six_bit_scale(count: int) -> Decoder:
    """d * (s - 32) with `count` sub-scales s in a nibble plane "scales" and bit pairs in "scales_high"."""

    def decode(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
        low = ops.to_uint8(planes["scales"])
        high = ops.reshape(ops.gather(HIGH_PAIR, planes["scales_high"]), (shape.rows, -1, count))
        signed = ops.plus(ops.to_float(ops.bit_or(low, high)), -32.0)
        return under(ops, signed, planes["d"], shape)

    return decode


def odd_scale(factor: float, term: float) -> Decoder:
    """d * (factor * s + term) with sub-scales s in a nibble plane "scales"."""

    def decode(ops: Ops[Any], planes: Planes, shape: BlockShape) -> Any:
        sub = ops.plus(ops.times(ops.to_float(planes["scales"]), factor), term)
        return under(ops, sub, planes["d"], shape)

    return decode
