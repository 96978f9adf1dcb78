"""Rotary tables, and the row order that they expect."""

import math

import numpy as np
import numpy.typing as npt

from converters.blocks.context import Build
from converters.graph.graph import Value
from converters.spec import ContextFactors, LinearScaling, Rope, YarnScaling
from repack.errors import MobiusError

F64 = npt.NDArray[np.float64]


def inverse_frequencies(rope: Rope, factors: npt.NDArray[np.float32] | None) -> F64:
    """Angle per position of each channel pair: float64 [dim / 2].

    Raises:
        MobiusError: factors are zero, or no numbers.
    """
    if factors is not None and not (np.isfinite(factors).all() and factors.all()):
        raise MobiusError("the factors of rotary frequencies hold zeros, or what is no finite number",
                          "the file is damaged: download it again")  # fmt: skip
    pairs = np.arange(0, rope.dim, 2, dtype=np.float64)
    base = rope.theta ** (-pairs / rope.dim)
    if factors is not None:
        base = base / factors.astype(np.float64)
    base[list(rope.still)] = 0.0
    if isinstance(rope.scaling, LinearScaling):
        return base / rope.scaling.factor
    if isinstance(rope.scaling, YarnScaling):
        keep = _yarn_ramp(rope, rope.scaling)
        return base / rope.scaling.factor * (1 - keep) + base * keep
    return base


def _yarn_ramp(rope: Rope, yarn: YarnScaling) -> F64:
    """1 for pairs that turn often within the original context (kept), 0 for slow ones (stretched).

    Equation 23 of arXiv 2309.00071, with the correction range rounded outwards as llama.cpp does.
    """

    def pair_of(turns: float) -> float:
        return rope.dim * math.log(yarn.original_context / (turns * 2 * math.pi)) / (2 * math.log(rope.theta))

    low = max(0.0, math.floor(pair_of(yarn.beta_fast)))
    high = min(rope.dim - 1.0, math.ceil(pair_of(yarn.beta_slow)))
    ramp = (np.arange(rope.dim // 2, dtype=np.float64) - low) / max(0.001, high - low)
    return 1 - np.clip(ramp, 0, 1)


def magnitude(rope: Rope) -> float:
    """Factor of cos and sin."""
    if not isinstance(rope.scaling, YarnScaling) or rope.scaling.factor <= 1:
        return rope.magnitude
    log = 0.1 * math.log(rope.scaling.factor)
    return rope.magnitude * (1 + log) / (1 + log * rope.scaling.log_multiplier)


def rotary_tables(b: Build, rope: Rope) -> tuple[Value, Value]:
    """cos and sin [context, dim / 2], made in float64 when a session starts: the file holds about their square root."""
    return b.c.shared(("rope", rope), lambda: _tables(b, rope))


def _tables(b: Build, rope: Rope) -> tuple[Value, Value]:
    """From those of every `step`-th position and of the `step` first ones, by the sums of angles.

    Not by Cos and Sin of float64, which ONNX Runtime has from 1.29 on only; products are as exact.
    """
    c, g = b.c, b.c.graph
    frequencies = inverse_frequencies(rope, _factors(b, rope))
    step = math.isqrt(c.context_length - 1) + 1  # step * step reaches the whole context
    coarse, fine = np.arange(0, step * step, step)[:, None, None], np.arange(step)[None, :, None]
    index = sum(1 for key in c.memo if isinstance(key, tuple) and key[0] == "rope")
    with g.scope(f"rope_{index}"):

        def known(name: str, table: F64) -> Value:
            return g.constant(f"rope_{index}.{name}", table)

        cos, sin = known("cos", np.cos(fine * frequencies)), known("sin", np.sin(fine * frequencies))
        far_cos = known("far_cos", np.cos(coarse * frequencies) * magnitude(rope))
        far_sin = known("far_sin", np.sin(coarse * frequencies) * magnitude(rope))
        sums = (
            g.op("Sub", g.op("Mul", far_cos, cos), g.op("Mul", far_sin, sin)),
            g.op("Add", g.op("Mul", far_sin, cos), g.op("Mul", far_cos, sin)),
        )
        made = []
        for table in sums:  # [step, step, dim / 2]
            rows = g.op("Reshape", g.cast(table, c.target.dtype), g.ints(-1, len(frequencies)))
            made.append(g.op("Slice", rows, g.ints(0), g.ints(c.context_length), g.ints(0)))
    return made[0], made[1]


def _factors(b: Build, rope: Rope) -> npt.NDArray[np.float32] | None:
    """Divisors of the frequencies [dim / 2]; of two tensors the one that llama.cpp takes at the same context."""
    if rope.factors is None:
        return None
    name = rope.factors
    if isinstance(name, ContextFactors):
        longer = b.c.context_length > name.original_context
        name, other = (name.long, name.short) if longer else (name.short, name.long)
        reason = f"for contexts of {'at most' if longer else 'more than'} the original length"
        b.weights.set_aside_one(other, reason, noted=True)
    whole = rope.factor_pairs or rope.dim // 2
    return b.c.shared(("array", name), lambda: b.weights.array(name, whole))[: rope.dim // 2]


def rotate(b: Build, x: Value, rope: Rope, heads: int, where: Value) -> Value:
    """Rotate the heads of x [batch, sequence, heads * channels] at positions `where` [batch, sequence]."""
    return b.c.operators.rotary(b.c, x, rotary_tables(b, rope), where, heads, rope.dim)


def split_half_order(heads: int, head_dim: int, rope_dim: int) -> npt.NDArray[np.intp]:
    """Row order that turns llama.cpp's interleaved pairs (2 i, 2 i + 1) into (i, i + rope_dim / 2), per head.

    Whole rows move, so quantized blocks are never touched.
    """
    channel = np.arange(head_dim)
    channel[:rope_dim] = np.concatenate([np.arange(0, rope_dim, 2), np.arange(1, rope_dim, 2)])
    order: npt.NDArray[np.intp] = (np.arange(heads)[:, None] * head_dim + channel).reshape(-1)
    return order
