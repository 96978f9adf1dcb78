"""Experts one by one: each multiplies the rows of the tokens that take it."""

from collections.abc import Sequence

from converters.blocks.activation import gated
from converters.blocks.context import Build
from converters.blocks.expert_extras import extras
from converters.blocks.router import Routed, weights_of
from converters.blocks.sorted_rows import SortedRows
from converters.graph.graph import Value
from converters.spec import Experts


def sorted_experts(b: Build, x: Value, routed: Routed, module: Experts, prefix: str) -> Value:
    """What the chosen experts add: x [1, tokens, channels] -> [tokens, 1, channels]."""
    g, rows, weights = b.c.graph, SortedRows(b, routed.experts, module), b.narrow(weights_of(b, routed))
    own = rows.of_tokens(x)
    if module.weighs_inputs:
        own = g.op("Mul", own, rows.of_pairs(weights))
    inner = _inner(b, own, rows, module, prefix)
    channels = module.channels(b.spec.hidden)
    (y,) = _products(b, inner, rows, module, prefix, {"down": channels}, module.width)
    made = rows.back(y, channels)
    if module.weighs_inputs:
        return g.op("ReduceSum", made, g.ints(1))
    return g.op("MatMul", g.op("Reshape", weights, g.ints(-1, 1, module.used)), made)


def _inner(b: Build, x: Value, rows: SortedRows, module: Experts, prefix: str) -> Value:
    """What the down projection reads: [1, rows, channels] -> [1, rows, width]."""
    width, hidden = module.width, module.channels(b.spec.hidden)
    if module.gate == "none":
        (up,) = _products(b, x, rows, module, prefix, {"up": width}, hidden)
        return gated(b.c, None, up, module.activation)
    if module.gate == "fused":
        (both,) = _products(b, x, rows, module, prefix, {"gate_up": 2 * width}, hidden)
        gate, up = b.c.graph.multi_op("Split", both, b.c.graph.ints(width, width), outputs=2, axis=-1)
    else:
        gate, up = _products(b, x, rows, module, prefix, {"gate": width, "up": width}, hidden)
    return gated(b.c, gate, up, module.activation)


def _products(
    b: Build, x: Value, rows: SortedRows, module: Experts, prefix: str, parts: dict[str, int], columns: int
) -> Sequence[Value]:
    """x [1, rows, columns] times the matrices of several parts (name, rows), with their biases and scales."""
    g, widths = b.c.graph, list(parts.values())
    stems = [f"{prefix}.ffn_{part}{module.suffix}" for part in parts]
    if len(stems) > 1 and b.weights.one_type([f"{stem}.weight" for stem in stems], expert=0):
        tensors = [(f"{stem}.weight", width) for stem, width in zip(stems, widths, strict=True)]
        stack = b.weights.experts(f"{prefix}.ffn_{'_'.join(parts)}{module.suffix}", tensors, rows.count, columns)
        made = g.multi_op("Split", rows.product(x, stack), g.ints(*widths), outputs=len(parts), axis=-1)
    else:
        made = tuple(
            rows.product(x, b.weights.experts(f"{stem}.weight", [(f"{stem}.weight", width)], rows.count, columns))
            for stem, width in zip(stems, widths, strict=True)
        )
    return [_finished(b, y, rows, stem, width) for y, stem, width in zip(made, stems, widths, strict=True)]


def _finished(b: Build, y: Value, rows: SortedRows, stem: str, width: int) -> Value:
    """With the bias or the second-level scale of each row's expert."""
    g, (bias, scale) = b.c.graph, extras(b, stem, rows.count, width)
    if bias is not None:
        y = g.op("Add", y, rows.of_experts(bias))
    return y if scale is None else g.op("Mul", y, rows.of_experts(scale))
