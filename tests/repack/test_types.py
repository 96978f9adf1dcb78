"""Every type equals the reference dequantizers bit for bit, whatever the codes and scales."""

import dataclasses

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repack import block_quantized
from repack.bits import read_floats
from repack.block_quantized import BlockQuantized, layout_of
from repack.errors import MobiusError
from repack.registry import QUANT_TYPES
from tests.support.blocks import columns_of, random_blocks, reference
from tests.support.ggml import ggml_dequantize

# Zero, smallest subnormal, largest subnormal, smallest normal, one, largest; both signs.
EXTREMES = np.array([0, 6e-8, 6.097e-5, 6.104e-5, 1, 65504, -6e-8, -1, -65504, 0.0123], np.float16)
TYPES = sorted(QUANT_TYPES)


def quantized(raw: np.ndarray, name: str, columns: int) -> BlockQuantized:
    return BlockQuantized(QUANT_TYPES[name], layout_of(QUANT_TYPES[name], len(raw), columns, "w"), raw)


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal as numbers; the sign of a zero carries nothing."""
    return bool(np.array_equal(a, b)) and a.dtype == b.dtype == np.float32


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (7, 3), (16, 2), (33, 5)])
def test_equals_gguf(name: str, rows: int, blocks: int) -> None:
    raw = random_blocks(name, rows, blocks)
    ours = quantized(raw, name, columns_of(name, blocks)).dequantize()
    assert same_bits(ours, reference(raw, name))


@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 9), blocks=st.integers(1, 5))
def test_extreme_scales(name: str, seed: int, rows: int, blocks: int) -> None:
    raw = random_blocks(name, rows, blocks, seed, EXTREMES)
    ours = quantized(raw, name, columns_of(name, blocks)).dequantize()
    assert same_bits(ours, reference(raw, name))


@pytest.mark.parametrize("name", TYPES)
def test_equals_ggml(name: str) -> None:
    """ggml's own C code, on many blocks: every code at every place."""
    raw = random_blocks(name, 256, 2, seed=5)
    ours = quantized(raw, name, columns_of(name, 2)).dequantize()
    assert same_bits(ours, ggml_dequantize(raw, name))


@pytest.mark.parametrize("name", TYPES)
def test_bands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large matrices are decoded in bands of rows, whatever their order; the last may be smaller."""
    monkeypatch.setattr(block_quantized, "BAND", 6)
    raw, order = random_blocks(name, 35, 2), np.random.default_rng(0).permutation(35)
    matrix = dataclasses.replace(quantized(raw, name, columns_of(name, 2)), order=order)
    assert same_bits(matrix.dequantize(), reference(raw, name)[order])


@pytest.mark.parametrize("name", TYPES)
def test_layout_matches_arrays(name: str) -> None:
    matrix = quantized(random_blocks(name, 6, 3), name, columns_of(name, 3))
    shape = matrix.layout.block_shape
    assert matrix.codes().shape == (6, shape.blocks, matrix.layout.block_size * matrix.layout.bits // 8)
    assert matrix.codes().dtype == np.uint8
    assert matrix.scale().shape == (6, shape.blocks)
    if matrix.layout.has_offset:
        assert matrix.offset().shape == (6, shape.blocks)


@pytest.mark.parametrize("name", TYPES)
def test_planes_are_no_larger_than_the_file(name: str) -> None:
    quant = QUANT_TYPES[name]
    assert sum(p.nbytes for p in quant.planes.values()) <= 1.03 * quant.gguf_block[1]


def test_rows_must_be_whole_blocks() -> None:
    with pytest.raises(MobiusError, match=r"blk\.0\.w: rows of 100 weights .* Q4_0 block of 32"):
        layout_of(QUANT_TYPES["Q4_0"], 4, 100, "blk.0.w")


def test_floats() -> None:
    values = np.array([[1.5, -2.25, 0, 65504, 6e-8]], np.float32)
    assert same_bits(read_floats(values.view(np.uint8), "F32"), values)
    assert same_bits(
        read_floats(values.astype(np.float16).view(np.uint8), "F16"),
        values.astype(np.float16).astype(np.float32),
    )
    kind = gguf.GGMLQuantizationType.BF16
    raw = gguf.quantize(values, kind)
    assert same_bits(read_floats(raw, "BF16"), gguf.dequantize(raw, kind))


PLANES = [(name, plane) for name in TYPES for plane in QUANT_TYPES[name].planes]


@pytest.mark.parametrize(("name", "plane"), PLANES)
def test_a_planted_bug_shows(name: str, plane: str) -> None:
    """Every plane of every type matters: its elements moved by one place (or doubled) give other weights."""
    quant = QUANT_TYPES[name]
    found = quant.planes[plane]

    def wrong(raw: np.ndarray) -> np.ndarray:
        values = found.extract(raw)
        return np.roll(values, 1, axis=1) if found.count > 1 else np.roll(values, 1, axis=0)

    planted = dataclasses.replace(quant, planes={**quant.planes, plane: dataclasses.replace(found, extract=wrong)})
    raw = random_blocks(name, 5, 2, seed=9)
    matrix = quantized(raw, name, columns_of(name, 2))
    broken = dataclasses.replace(matrix, quant=planted).dequantize()
    assert not same_bits(broken, reference(raw, name))
