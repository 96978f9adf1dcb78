"""Mixtures of experts: a router, the products of the experts that it chooses, and what all tokens share."""

from collections.abc import Sequence

from converters.blocks.activation import gated
from converters.blocks.context import Build
from converters.blocks.mlp import feed_forward
from converters.blocks.module import Place, emits
from converters.blocks.router import Routed, route
from converters.blocks.sorted_rows import SortedRows
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import Experts
from repack.errors import MobiusError


@emits(Experts)
def experts(b: Build, x: Value, module: Experts, place: Place, _: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden]."""
    g, prefix = b.c.graph, place.prefix
    with g.scope("experts"):
        tokens = g.op("Reshape", x, g.ints(1, -1, b.spec.hidden))
        y = chosen(b, tokens, route(b, tokens, module, prefix), module, prefix)
        y = g.op("Reshape", y, g.op("Shape", x))
        if module.shared is not None:
            y = g.op("Add", y, _shared(b, x, module, prefix))
        return y if module.sum_scale == 1.0 else g.op("Mul", y, b.c.number("sum_scale", module.sum_scale))


def _shared(b: Build, x: Value, module: Experts, prefix: str) -> Value:
    """The feed-forward that every token takes."""
    assert module.shared is not None
    y = feed_forward(b, x, module.shared, prefix, module.shared_suffix)
    if not module.shared_gate:
        return y
    matrix = b.weights.vector(f"{prefix}.ffn_gate_inp_shexp.weight", (1, b.spec.hidden))
    return b.c.graph.op("Mul", y, b.c.graph.op("Sigmoid", b.c.operators.matmul_transposed(b.c, x, matrix)))


def chosen(b: Build, x: Value, routed: Routed, module: Experts, prefix: str) -> Value:
    """What the chosen experts add: x [1, tokens, hidden] -> [tokens, 1, hidden]."""
    g, rows, weights = b.c.graph, SortedRows(b, routed.experts, module), b.narrow(routed.weights)
    own = rows.of_tokens(x)
    if module.weighs_inputs:
        own = g.op("Mul", own, rows.of_pairs(weights))
    inner = _inner(b, own, rows, module, prefix)
    (y,) = _products(b, inner, rows, module, prefix, {"down": b.spec.hidden}, module.width)
    made = rows.back(y, b.spec.hidden)
    if module.weighs_inputs:
        return g.op("ReduceSum", made, g.ints(1))
    return g.op("MatMul", g.op("Reshape", weights, g.ints(-1, 1, module.used)), made)


def _inner(b: Build, x: Value, rows: SortedRows, module: Experts, prefix: str) -> Value:
    """What the down projection reads: [1, rows, hidden] -> [1, rows, width]."""
    width, hidden = module.width, b.spec.hidden
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
    if len(stems) > 1 and b.weights.one_type([f"{stem}.weight" for stem in stems]):
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
    g, bias, scale = b.c.graph, f"{stem}.bias", f"{stem}.scale"
    if bias in b.weights and scale in b.weights:
        raise MobiusError(f"{stem} has both a bias and a scale", "the order of the two is not defined")
    if bias in b.weights:
        y = g.op("Add", y, rows.of_experts(b.weights.vector(bias, (rows.count, width))))
    if scale in b.weights:
        factors = b.weights.vector(scale, (rows.count, 1), use="multiplies the result")
        y = g.op("Mul", y, rows.of_experts(factors))
    return y
