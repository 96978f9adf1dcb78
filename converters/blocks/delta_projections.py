"""What a gated delta net makes of its input: one product, or several, as files and their types allow."""

import numpy as np
import numpy.typing as npt

from converters.blocks.context import Build
from converters.blocks.linear import linear, stackable, stacked_linear
from converters.graph.graph import Value
from converters.sources.source import Order
from converters.spec import GatedDeltaNet

Rows = tuple[str, int, Order]  # a matrix without the ending of its name, its rows, and where these come from


def projections(b: Build, x: Value, module: GatedDeltaNet, prefix: str) -> tuple[Value, Value, Value]:
    """q, k and v side by side; the gate of the result; alpha and beta side by side."""
    g, hidden, width = b.c.graph, b.spec.hidden, module.heads * module.value_dim
    rates = _rates(b, module, prefix)
    if f"{prefix}.ssm_in.weight" in b.weights:
        return *_keys_values_gate(b, x, module, prefix), _side_by_side(b, x, rates, f"{prefix}.ssm_rates")
    mixed = linear(b, x, f"{prefix}.attn_qkv", module.channels, hidden)
    gate: Rows = (f"{prefix}.attn_gate", width, None)
    if _stack(b, [gate, *rates]):
        whole = stacked_linear(b, x, f"{prefix}.ssm_gate_rates", [gate, *rates], hidden)
        made, both = g.multi_op("Split", whole, g.ints(width, 2 * module.heads), outputs=2, axis=-1)
        return mixed, made, both
    return mixed, linear(b, x, gate[0], width, hidden), _side_by_side(b, x, rates, f"{prefix}.ssm_rates")


def _keys_values_gate(b: Build, x: Value, module: GatedDeltaNet, prefix: str) -> tuple[Value, Value]:
    """q, k and v, and the gate, where all four are one tensor, key head by key head, as in older files."""
    g, width = b.c.graph, module.heads * module.value_dim
    rows = _by_key_head(module, {"v": module.value_dim, "gate": module.value_dim}, before=module.dim)
    order = np.concatenate([rows[part] for part in ("q", "k", "v", "gate")])
    both = linear(b, x, f"{prefix}.ssm_in", module.channels + width, b.spec.hidden, order)
    mixed, gate = g.multi_op("Split", both, g.ints(module.channels, width), outputs=2, axis=-1)
    return mixed, gate


def _rates(b: Build, module: GatedDeltaNet, prefix: str) -> list[Rows]:
    """What makes alpha and beta, in this order: two matrices, or one with those of each key head side by side."""
    heads = module.heads
    if f"{prefix}.ssm_ba.weight" not in b.weights:
        return [(f"{prefix}.ssm_alpha", heads, None), (f"{prefix}.ssm_beta", heads, None)]
    rows = _by_key_head(module, {"beta": 1, "alpha": 1})
    return [(f"{prefix}.ssm_ba", 2 * heads, np.concatenate([rows["alpha"], rows["beta"]]))]


def _side_by_side(b: Build, x: Value, rows: list[Rows], name: str) -> Value:
    """Several products, as one called `name` where the types allow."""
    hidden = b.spec.hidden
    if len(rows) > 1 and _stack(b, rows):
        return stacked_linear(b, x, name, rows, hidden)
    parts = [linear(b, x, part, count, hidden, order) for part, count, order in rows]
    return parts[0] if len(parts) == 1 else b.c.graph.op("Concat", *parts, axis=-1)


def _stack(b: Build, rows: list[Rows]) -> bool:
    return b.c.target.stack_projections and stackable(b, [name for name, _, _ in rows])


def _by_key_head(module: GatedDeltaNet, sizes: dict[str, int], before: int = 0) -> dict[str, npt.NDArray[np.intp]]:
    """Rows of each part of a tensor that has all parts of a key head side by side.

    `sizes`: channels of a value head, of which a key head has several; `before` these, so many of q and of k.
    """
    each = module.heads // module.key_heads
    widths = {**({"q": before, "k": before} if before else {}), **{part: each * n for part, n in sizes.items()}}
    rows = np.arange(module.key_heads * sum(widths.values())).reshape(module.key_heads, -1)
    ends = np.cumsum(list(widths.values()))[:-1]
    return {part: block.reshape(-1) for part, block in zip(widths, np.split(rows, ends, axis=1), strict=True)}
