"""Quantized Hugging Face tensors in every arrangement that is read, written here by their own description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.checkpoint import F32, Stored, bf16, packing, stored

U8 = NDArray[np.uint8]
AWQ_OUTPUTS = (0, 2, 4, 6, 1, 3, 5, 7)  # which of its eight outputs each nibble of a word is


@dataclass(frozen=True)
class Quantized:
    """What a matrix means: codes uint8 [rows, columns], scales, zeros or biases [rows, groups], groups [columns]."""

    bits: int
    codes: U8
    scales: F32
    zeros: U8
    groups: NDArray[np.int32]
    biases: F32 | None = None

    @property
    def values(self) -> F32:
        """In float64, rounded once."""
        scales = self.scales.astype(np.float64)[:, self.groups]
        if self.biases is not None:
            return (scales * self.codes + self.biases.astype(np.float64)[:, self.groups]).astype(np.float32)
        return (scales * (self.codes.astype(np.int64) - self.zeros[:, self.groups])).astype(np.float32)


Write = Callable[[str, Quantized], dict[str, Stored]]


@dataclass(frozen=True)
class Form:
    """A way to store matrices: `group` 0 is whole rows, None a whole matrix; `shuffled`: groups in any order."""

    config: Mapping[str, Any]
    write: Write
    bits: int = 4
    group: int | None = 32
    symmetric: bool = False
    shuffled: bool = False
    scale_type: str = "BF16"
    biased: bool = False
    least_zero: int = 0
    beside: Mapping[str, Any] = field(default_factory=dict)  # a side file in place of the configuration


def quantized(shape: tuple[int, int], form: Form, seed: int) -> Quantized:
    """Every code and every zero point occurs; scales are such that products stay near one."""
    rng, (rows, columns), top = np.random.default_rng(seed), shape, (1 << form.bits) - 1
    group = form.group or columns
    count = columns // group
    scales = rng.uniform(0.5, 1.5, (rows, count)) * 3.5 / 2**form.bits / np.sqrt(columns)
    zeros = rng.integers(form.least_zero, top + 1, (rows, count))
    if form.symmetric:
        zeros[:] = 1 << (form.bits - 1)
    if form.group is None:
        scales[:], zeros[:] = scales[0, 0], zeros[0, 0]
    groups = np.repeat(np.arange(count), group)
    if form.shuffled:
        groups = np.random.default_rng(7).permutation(groups)  # one for all: q, k and v may share it
    held = bf16(scales) if form.scale_type == "BF16" else scales.astype(np.float16).astype(np.float32)
    held[::3] *= -1 if form.biased else 1  # half of real ones are negative
    biases = bf16(-held * rng.uniform(0, top, held.shape)) if form.biased else None
    codes = rng.integers(0, top + 1, shape).astype(np.uint8)
    return Quantized(form.bits, codes, held, zeros.astype(np.uint8), groups.astype(np.int32), biases)


def stream(codes: U8, bits: int, axis: int = 1) -> NDArray[np.int32]:
    """A dense stream of codes along an axis in 32-bit words, lowest bits first; the last word is filled with zeros."""
    lines = np.moveaxis(codes, axis, -1)
    single = (lines[..., None] >> np.arange(bits, dtype=np.uint8)) & 1
    single = single.reshape(*lines.shape[:-1], -1)
    filled = np.concatenate([single, np.zeros((*single.shape[:-1], -single.shape[-1] % 32), np.uint8)], -1)
    packed = np.packbits(filled, axis=-1, bitorder="little").view("<i4")
    return np.ascontiguousarray(np.moveaxis(packed, -1, axis))


def ct(form: str = "group", symmetric: bool = False) -> Write:
    """compressed-tensors."""

    def write(stem: str, one: Quantized) -> dict[str, Stored]:
        whole = form == "tensor"
        found: dict[str, Stored] = {
            f"{stem}.weight_packed": ("I32", stream(one.codes, one.bits)),
            f"{stem}.weight_scale": stored(one.scales[:1, 0] if whole else one.scales, "BF16"),
            f"{stem}.weight_shape": ("I64", np.array(one.codes.shape, np.int64)),
        }
        if not symmetric:
            centred = (one.zeros[:1, 0].astype(np.int16) - (1 << (one.bits - 1))).astype(np.int8)
            zeros: Stored = ("I8", centred) if whole else ("I32", stream(one.zeros, one.bits, axis=0))
            found[f"{stem}.weight_zero_point"] = zeros
        if form == "ordered":
            found[f"{stem}.weight_g_idx"] = ("I32", one.groups)
        return found

    return write


def awq(stem: str, one: Quantized) -> dict[str, Stored]:
    """AWQ, gemm."""

    def words(values: U8) -> NDArray[np.int32]:
        turned = values.T.reshape(values.shape[1], -1, 8)[:, :, AWQ_OUTPUTS]
        return stream(turned.reshape(len(turned), -1), 4)

    scales = stored(np.ascontiguousarray(one.scales.T), "F16")
    return {f"{stem}.qweight": ("I32", words(one.codes)), f"{stem}.qzeros": ("I32", words(one.zeros)),
            f"{stem}.scales": scales}  # fmt: skip


def awq_gemv(stem: str, one: Quantized) -> dict[str, Stored]:
    """AWQ, gemv in groups of 64: groups are filled up to two words."""
    count = -(-one.zeros.shape[1] // 16) * 16
    zeros, scales = np.zeros((len(one.codes), count), np.uint8), np.zeros((len(one.codes), count), np.float32)
    zeros[:, : one.zeros.shape[1]], scales[:, : one.zeros.shape[1]] = one.zeros, one.scales
    return {f"{stem}.qweight": ("I32", stream(one.codes, 4)), f"{stem}.qzeros": ("I32", stream(zeros, 4)),
            f"{stem}.scales": stored(scales, "F16")}  # fmt: skip


def gptq(version: int = 1, ordered: bool = True) -> Write:
    """GPTQ."""

    def write(stem: str, one: Quantized) -> dict[str, Stored]:
        zeros = one.zeros.T if version == 2 else (one.zeros.T - 1) & ((1 << one.bits) - 1)
        found: dict[str, Stored] = {
            f"{stem}.qweight": ("I32", stream(one.codes.T, one.bits, axis=0)),
            f"{stem}.qzeros": ("I32", stream(zeros, one.bits)),
            f"{stem}.scales": stored(np.ascontiguousarray(one.scales.T), "F16"),
        }
        return found | ({f"{stem}.g_idx": ("I32", one.groups)} if ordered else {})

    return write


def mlx(stem: str, one: Quantized) -> dict[str, Stored]:
    """MLX, affine."""
    assert one.biases is not None
    return {f"{stem}.weight": ("U32", stream(one.codes, one.bits)), f"{stem}.scales": stored(one.scales, "BF16"),
            f"{stem}.biases": stored(one.biases, "BF16")}  # fmt: skip


def _ct(bits: int = 4, group: int | None = 32, strategy: str = "group", **changes: Any) -> dict[str, Any]:
    changes = {"symmetric": False, "strategy": strategy, **changes}
    return {"quantization_config": packing(bits, group, **changes)}


def _awq(group: int, **changes: Any) -> dict[str, Any]:
    given = {"quant_method": "awq", "bits": 4, "group_size": group, "zero_point": True, "version": "gemm", **changes}
    return {"quantization_config": given}


def _gptq(bits: int = 4, group: int = 64, **changes: Any) -> dict[str, Any]:
    given = {"quant_method": "gptq", "bits": bits, "group_size": group, "desc_act": False, "sym": False, **changes}
    return {"quantization_config": given}


def _rounded(packing_format: str, group: int) -> dict[str, Any]:
    given = {"quant_method": "auto-round", "packing_format": packing_format, "bits": 4, "group_size": group}
    return {"quantization_config": given}


def _mlx(bits: int, group: int) -> dict[str, Any]:
    given = {"group_size": group, "bits": bits, "mode": "affine"}
    return {"quantization": given, "quantization_config": given}


_F16 = {"scale_type": "F16"}
FORMS: dict[str, Form] = {
    "ct asymmetric": Form(_ct(), ct()),
    "ct rows": Form(_ct(4, None, "channel"), ct(), group=0),
    "ct matrix": Form(_ct(4, None, "tensor"), ct("tensor"), group=None),
    "ct symmetric matrix": Form(_ct(4, None, "tensor", symmetric=True), ct("tensor", True), group=None, symmetric=True),
    "ct ordered": Form(_ct(actorder="group"), ct("ordered"), shuffled=True),
    "ct 8 bit": Form(_ct(8, 64), ct(), bits=8, group=64),
    "ct 3 bit": Form(_ct(3, 128, symmetric=True), ct("group", True), bits=3, group=128, symmetric=True),
    "ct 2 bit": Form(_ct(2, 32), ct(), bits=2),
    "awq": Form(_awq(128), awq, group=128, **_F16),
    "awq rows": Form(_awq(-1), awq, group=0, **_F16),
    "awq gemv": Form(_awq(64, version="gemv"), awq_gemv, group=64, **_F16),
    "gptq": Form(_gptq(group=128, sym=True), gptq(), group=128, symmetric=True, **_F16),
    "gptq zeros": Form(_gptq(), gptq(), group=64, least_zero=1, **_F16),
    "gptq 2": Form(_gptq(checkpoint_format="gptq_v2"), gptq(2), group=64, **_F16),
    "gptq ordered": Form(_gptq(group=32, desc_act=True), gptq(), shuffled=True, least_zero=1, **_F16),
    "gptq 8 bit": Form(_gptq(8, 128), gptq(), bits=8, group=128, least_zero=1, **_F16),
    "gptq 3 bit": Form(_gptq(3, 128, checkpoint_format="gptq_v2"), gptq(2), bits=3, group=128, **_F16),
    "gptq 2 bit": Form(_gptq(2, 64, checkpoint_format="gptq_v2"), gptq(2), bits=2, group=64, **_F16),
    "gptq beside": Form({}, gptq(), group=64, least_zero=1, beside={
        "quantize_config.json": {"bits": 4, "group_size": 64, "desc_act": False, "sym": False}}, **_F16),
    "auto-round gptq": Form(_rounded("auto_round:auto_gptq", 128), gptq(1, False), group=128, least_zero=1, **_F16),
    "auto-round": Form(_rounded("auto_round", 128), gptq(2, False), group=128, **_F16),
    "auto-round awq": Form(_rounded("auto_round:auto_awq", 128), awq, group=128, **_F16),
    **{f"mlx {bits} bit": Form(_mlx(bits, group), mlx, bits=bits, group=group, biased=True)
       for bits, group in ((2, 64), (3, 64), (4, 32), (5, 32), (6, 64), (8, 64))},
}  # fmt: skip
