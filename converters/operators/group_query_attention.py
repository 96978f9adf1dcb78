"""GroupQueryAttention with its in-place key/value cache, for heads of any size, with or without ALiBi."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from converters.blocks.context import Attend, Builder, positions
from converters.blocks.rope import rotary_tables
from converters.graph.graph import MICROSOFT, Value
from converters.spec import Rope

CACHE_AXES = ("batch_size", "past_sequence_length", "total_sequence_length")
NORM_INPUTS_BEHIND = 5  # inputs of the operator between the rotary tables and the norms' weights
COARSE = 64  # ALiBi's positions are split in multiples of this and a rest: float16 holds both exactly


@dataclass(frozen=True)
class Heads:
    """Numbers of an attention operator: key channels `dim`, value channels `value_dim`; `rope` inside it, or None."""

    count: int
    kv_count: int
    dim: int
    value_dim: int
    scale: float
    rope: Rope | None = None
    window: int | None = None
    softcap: float = 0.0
    max_alibi_bias: float = 0.0
    norms: tuple[Value, Value] | None = None  # weights of the q and k norms that the operator does itself

    def stored_dim(self, multiple: int) -> int:
        """Channels of a head in the operator, which wants keys and values of one size and a multiple of 8.

        Its rotary tables may fill a head's half only as far as (channels / 16) * 8.
        """
        wanted = max(self.dim + (2 if self.max_alibi_bias else 0), self.value_dim)
        turned = self.rope.dim // 2 if self.rope else 0
        if wanted == self.dim == self.value_dim and wanted % multiple == 0 and turned <= wanted // 16 * 8:
            return wanted
        step = 2 * multiple
        return -(-wanted // step) * step

    def whole(self, multiple: int) -> bool:
        """Whether heads go into the operator as they are, so that q, k and v may come in one piece."""
        return self.stored_dim(multiple) == self.dim == self.value_dim


def cached_attention(b: Builder, q: Value, k: Value | None, v: Value | None, heads: Heads, attend: Attend) -> Value:
    """q [batch, sequence, heads * dim], k and v alike (or all three in q) -> [batch, sequence, heads * value_dim].

    Adds a cache to the graph's inputs and outputs. Heads that the operator does not take are widened with zeros,
    which change no product; ALiBi's bias becomes the product of two more channels.
    """
    g, dim = b.graph, heads.stored_dim(b.target.head_dim_multiple)
    if not heads.whole(b.target.head_dim_multiple):
        assert k is not None and v is not None
        q, k = _widen(b, q, heads.count, heads.dim, dim), _widen(b, k, heads.kv_count, heads.dim, dim)
        v = _flat(b, _widen(b, v, heads.kv_count, heads.value_dim, dim), heads.kv_count * dim)
        if heads.max_alibi_bias:
            q, k = _alibi(b, q, k, heads, dim, attend)
        q, k = _flat(b, q, heads.count * dim), _flat(b, k, heads.kv_count * dim)
    index = b.caches
    b.caches += 1
    past = [_cache_input(b, heads.kv_count, dim, index, part) for part in ("key", "value")]
    cos, sin = rotary_tables(b, heads.rope) if heads.rope else (None, None)
    extra: dict[str, Any] = {"qk_norm_epsilon": b.spec.norm.epsilon} if heads.norms else {}
    y, *present = g.op(
        "GroupQueryAttention", q, k, v, *past, attend.sequence_lengths, attend.total_length, cos, sin,
        *((*[None] * NORM_INPUTS_BEHIND, *heads.norms) if heads.norms else ()),
        domain=MICROSOFT, outputs=3,
        num_heads=heads.count, kv_num_heads=heads.kv_count, scale=heads.scale, softcap=heads.softcap,
        local_window_size=heads.window if heads.window is not None else -1,
        do_rotary=int(heads.rope is not None), rotary_interleaved=0, **extra,
    )  # fmt: skip
    for part, value in zip(("key", "value"), present, strict=True):
        shape = (CACHE_AXES[0], heads.kv_count, CACHE_AXES[2], dim)
        g.output(value, f"present.{index}.{part}", b.target.dtype, shape)
    if dim == heads.value_dim:
        result: Value = y
    else:
        split = g.op("Reshape", y, g.ints(0, 0, heads.count, dim))
        cut = g.op("Slice", split, g.ints(0), g.ints(heads.value_dim), g.ints(3))
        result = _flat(b, cut, heads.count * heads.value_dim)
    return result


def _cache_input(b: Builder, heads: int, dim: int, index: int, part: str) -> Value:
    return b.graph.input(f"past_key_values.{index}.{part}", b.target.dtype, (CACHE_AXES[0], heads, CACHE_AXES[1], dim))


def _widen(b: Builder, x: Value, heads: int, dim: int, wanted: int) -> Value:
    """[batch, sequence, heads * dim] -> [batch, sequence, heads, wanted], zeros behind."""
    g = b.graph
    x = g.op("Reshape", x, g.ints(0, 0, heads, dim))
    if wanted != dim:
        x = g.op("Pad", x, g.ints(0, 0, 0, 0, 0, 0, 0, wanted - dim))
    return x


def _flat(b: Builder, x: Value, width: int) -> Value:
    result: Value = b.graph.op("Reshape", x, b.graph.ints(0, 0, width))
    return result


def alibi_slopes(heads: int, max_bias: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Slope per head, as llama.cpp has them: two geometric series where `heads` is no power of 2."""
    power = 1 << (heads.bit_length() - 1)
    first, second = 2.0 ** (-max_bias / power), 2.0 ** (-max_bias / 2 / power)
    return np.array([first ** (h + 1) if h < power else second ** (2 * (h - power) + 1) for h in range(heads)])


def _alibi(b: Builder, q: Value, k: Value, heads: Heads, dim: int, attend: Attend) -> tuple[Value, Value]:
    """Two channels behind the heads' own whose products are slope * position / scale.

    The bias is slope * (key position - query position); what belongs to the query alone does not change a softmax.
    """
    g, kind = b.graph, b.target.dtype
    slopes = alibi_slopes(heads.count, heads.max_alibi_bias) / heads.scale
    row = np.zeros((heads.count, dim))
    row[:, heads.dim], row[:, heads.dim + 1] = slopes * COARSE, slopes
    rows = g.constant(f"alibi_{heads.count}_{dim}_{heads.max_alibi_bias:g}", row.astype(kind))

    def make() -> Value:
        where = positions(b, attend)
        coarse = g.constant("alibi_coarse", np.array(COARSE, np.int64))
        parts = [g.op("Div", where, coarse), g.op("Mod", where, coarse)]
        columns = g.op("Concat", *[g.op("Unsqueeze", part, g.ints(2)) for part in parts], axis=2)
        padded = g.op("Pad", g.cast(columns, kind), g.ints(0, 0, heads.dim, 0, 0, dim - heads.dim - 2))
        found: Value = g.op("Unsqueeze", padded, g.ints(2))
        return found

    key_row = b.shared(("alibi", heads.dim, dim), make)
    return g.op("Add", q, rows), g.op("Add", k, key_row)
