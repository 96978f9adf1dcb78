"""Blocks of GGUF types from codes and scales: gguf's own decoder reads the weights back, or the loss says so."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import dequantize

from repack.bits import pair_pack
from repack.block_quantized import BlockMatrix, BlockQuantized, Layout, layout_of
from repack.packed.gguf_blocks import ENCODERS, candidates
from repack.registry import QUANT_TYPES
from tests.support.blocks import random_blocks

ROWS, COLUMNS = 6, 256


@dataclass(frozen=True)
class Given(BlockMatrix):
    layout: Layout
    numbers: Any  # uint8 [rows, columns]
    scales: Any
    offsets: Any = None
    zeros: Any = None

    def codes(self) -> Any:
        blocks = self.numbers.reshape(ROWS, self.layout.block_shape.blocks, -1)
        return pair_pack(blocks) if self.layout.bits == 4 else blocks

    def scale(self) -> Any:
        return self.scales.astype(np.float64)

    def offset(self) -> Any:
        return self.offsets

    def zero_points(self) -> Any:
        return self.zeros

    def cut(self, rows: Any, columns: Any) -> Any:
        raise NotImplementedError

    @property
    def weights(self) -> Any:
        """By the formula, written once more."""
        size, middle = self.layout.block_size, 1 << (self.layout.bits - 1)
        zero = middle if self.zeros is None else np.repeat(self.zeros.astype(np.float64), size, axis=1)
        values = np.repeat(self.scale(), size, axis=1) * (self.numbers.astype(np.float64) - zero)
        return (values if self.offsets is None else values + np.repeat(self.offsets, size, axis=1)).astype(np.float32)


def given(bits: int, block: int, offset: bool = False) -> Given:
    rng, blocks = np.random.default_rng(2), COLUMNS // block
    scales = rng.uniform(0.5, 1.5, (ROWS, blocks)).astype(np.float16) * rng.choice([-1, 1], (ROWS, blocks))
    layout = Layout(bits, block, ROWS, COLUMNS, offset, together=block)
    codes = rng.integers(0, 1 << bits, (ROWS, COLUMNS)).astype(np.uint8)
    minimums = rng.uniform(-4, 4, (ROWS, blocks)).astype(np.float16).astype(np.float64)
    return Given(layout, codes, scales, minimums + 8 * scales.astype(np.float64) if offset else None)


def read(type_name: str, raw: Any) -> Any:
    return np.asarray(dequantize(raw, GGMLQuantizationType[type_name]), np.float32).reshape(ROWS, COLUMNS)


@pytest.mark.parametrize("block", [32, 64, 128, 256])
@pytest.mark.parametrize(("bits", "offset", "type_name"), [(4, False, "Q4_0"), (4, True, "Q4_1"), (8, False, "Q8_0")])
def test_what_fits(bits: int, offset: bool, type_name: str, block: int) -> None:
    matrix = given(bits, block, offset)
    assert type_name in candidates(matrix)
    raw, loss = ENCODERS[type_name](matrix)
    assert loss.exact
    assert np.array_equal(read(type_name, raw).view(np.uint32), matrix.weights.view(np.uint32))


def test_groups_of_16() -> None:
    matrix = given(4, 16)
    assert ENCODERS["Q4_0"](matrix)[1].wrong > 0
    alike = replace(matrix, scales=np.repeat(matrix.scales[:, ::2], 2, axis=1))
    raw, loss = ENCODERS["Q4_0"](alike)
    assert loss.exact and np.array_equal(read("Q4_0", raw), alike.weights)


def test_zero_points() -> None:
    """Those of 8 are Q4_0's own; of others the minimum rounds, unless the scale is short."""
    matrix = given(4, 32)
    zeros = np.random.default_rng(3).integers(0, 16, matrix.scales.shape).astype(np.uint8)
    assert ENCODERS["Q4_0"](replace(matrix, zeros=np.full_like(zeros, 8)))[1].exact
    odd = replace(matrix, zeros=zeros)
    assert ENCODERS["Q4_0"](odd)[1].wrong
    raw, loss = ENCODERS["Q4_1"](odd)
    assert loss.rounded and not loss.wrong and 0 < loss.max_relative_error <= 2**-11
    assert np.abs(read("Q4_1", raw) - odd.weights).max() < 16 * 1.5 * 2**-11
    short = replace(odd, scales=(np.round(matrix.scales * 8) / 8).astype(np.float16))
    raw, loss = ENCODERS["Q4_1"](short)
    assert loss.exact and np.array_equal(read("Q4_1", raw), short.weights)


def test_scales_of_float32() -> None:
    matrix = given(8, 32)
    longer = replace(matrix, scales=matrix.scales.astype(np.float64) * 1.0001)
    loss = ENCODERS["Q8_0"](longer)[1]
    assert loss.rounded == loss.numbers and loss.max_relative_error == pytest.approx(1e-4, rel=0.2)


@pytest.mark.parametrize("type_name", ["Q4_0", "Q4_1", "Q8_0", "MXFP4", "NVFP4"])
def test_a_file_s_own_blocks_come_back(type_name: str) -> None:
    """Up to the sign of zeros in FP4."""
    quant = QUANT_TYPES[type_name]
    raw = random_blocks(type_name, ROWS, COLUMNS // quant.gguf_block[0])
    if type_name == "NVFP4":  # scales from 127 on are none
        raw.reshape(-1, quant.gguf_block[1])[:, :4] %= 127
    matrix = BlockQuantized(quant, layout_of(quant, ROWS, COLUMNS, "x"), raw)
    assert type_name in candidates(matrix)
    back, loss = ENCODERS[type_name](matrix)
    assert loss.exact
    if "FP4" in type_name:
        assert np.array_equal(read(type_name, back), read(type_name, raw))
    else:
        assert np.array_equal(back, raw)
