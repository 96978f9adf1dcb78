"""Experts without control flow, for graphs that are captured once: chosen weights are gathered, or all are multiplied.

All matrices of a projection are one: below one another for what reads the hidden state, beside one another for the down
projection, whose product then adds up the experts. The last row, the only one of a decoding step, gathers the codes of
its experts; rows before it, those of a prompt, go through all experts, of which the router closes most.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from converters.blocks.activation import gated
from converters.blocks.context import Build
from converters.blocks.expert_extras import extras
from converters.blocks.router import Routed, weights_of
from converters.graph.graph import Value
from converters.spec import Experts
from converters.weights.matrix import SelectableMatrix

LATEST = 2**62  # an end behind every end


@dataclass(frozen=True)
class _Projection:
    """The matrices of all experts as one, `width` rows (of down: columns) each; biases and scales [experts, ...]."""

    matrix: SelectableMatrix
    width: int
    bias: Value | None
    scale: Value | None


def gathered_experts(b: Build, x: Value, routed: Routed, module: Experts, prefix: str) -> Value:
    """What the chosen experts add: x [1, tokens, channels] -> the same."""
    g, mixture = b.c.graph, _Mixture(b, module, prefix)
    inputs = (x, routed.experts, b.narrow(weights_of(b, routed)))

    def rows(first: int, end: int) -> list[Value]:
        return [g.op("Slice", value, g.ints(first), g.ints(end), g.ints(1)) for value in inputs]

    with g.scope("prompt"):
        before = mixture.all_experts(*rows(0, -1))
    return g.op("Concat", before, mixture.chosen_experts(*rows(-1, LATEST)), axis=1)


class _Mixture:
    """`inner`: what reads the hidden state, gate first; `down`: what makes the result."""

    def __init__(self, b: Build, module: Experts, prefix: str) -> None:
        self._b, self._module = b, module
        hidden, width, count = module.channels(b.spec.hidden), module.width, module.count
        parts = {"none": {"up": width}, "fused": {"gate_up": 2 * width}}.get(module.gate, {"gate": width, "up": width})
        self._inner = []
        for part, rows in parts.items():
            stem = f"{prefix}.ffn_{part}{module.suffix}"
            matrix = b.weights.experts_below(stem, count, rows, hidden)
            self._inner.append(_Projection(matrix, rows, *extras(b, stem, count, rows)))
        stem = f"{prefix}.ffn_down{module.suffix}"
        matrix = b.weights.experts_beside(stem, count, hidden, width)
        self._down = _Projection(matrix, width, *extras(b, stem, count, hidden))

    def chosen_experts(self, x: Value, experts: Value, weights: Value) -> Value:
        """One row: x [1, 1, hidden] through the experts [1, 1, used]."""
        c, g, used, down = self._b.c, self._b.c.graph, self._module.used, self._down
        chosen = g.op("Reshape", experts, g.ints(-1))

        def product(one: _Projection) -> Value:
            picked = one.matrix.rows_of(c, chosen, used, one.width)
            return g.op("Reshape", picked.product(c, x), g.ints(1, 1, used, one.width))

        def own(value: Value) -> Value:
            return g.op("Gather", value, chosen, axis=0)

        y = self._activated(product, own, g.op("Reshape", weights, g.ints(1, 1, used, 1)))
        flat = g.op("Reshape", y, g.ints(1, 1, used * down.width))
        y = down.matrix.columns_of(c, chosen, used, down.width).product(c, flat)
        return y if down.bias is None else g.op("Add", y, g.op("MatMul", weights, own(down.bias)))

    def all_experts(self, x: Value, experts: Value, weights: Value) -> Value:
        """Any number of rows, none too: x [1, rows, hidden] through all experts, most of which are closed."""
        c, g, count, down = self._b.c, self._b.c.graph, self._module.count, self._down
        numbers = g.constant(f"all_experts_{count}", np.arange(count, dtype=np.int64))
        same = g.op("Equal", g.op("Unsqueeze", experts, g.ints(3)), numbers)  # [1, rows, used, experts]
        shares = g.op("Mul", g.cast(same, c.target.dtype), g.op("Unsqueeze", weights, g.ints(3)))
        shares = g.op("ReduceSum", shares, g.ints(2), keepdims=0)

        def product(one: _Projection) -> Value:
            return g.op("Reshape", one.matrix.product(c, x), g.ints(0, 0, count, one.width))

        factors, zero = g.op("Unsqueeze", shares, g.ints(3)), c.number("zero", 0.0)
        y = self._activated(product, lambda value: value, factors)
        y = g.op("Where", g.cast(factors, "bool"), y, zero)  # closed ones may be infinite: not zero times that
        y = down.matrix.product(c, g.op("Reshape", y, g.ints(0, 0, count * down.width)))
        return y if down.bias is None else g.op("Add", y, g.op("MatMul", shares, down.bias))

    def _activated(
        self, product: Callable[[_Projection], Value], own: Callable[[Value], Value], factors: Value
    ) -> Value:
        """What the down projection reads, times the tokens' weights: [1, rows, experts, width]."""
        g, module, made = self._b.c.graph, self._module, []
        for one in self._inner:
            y = product(one)
            if module.weighs_inputs:  # of a product, input and result may be multiplied alike
                y = g.op("Mul", y, factors)
            y = y if one.bias is None else g.op("Add", y, own(one.bias))
            made.append(y if one.scale is None else g.op("Mul", y, own(one.scale)))
        if module.gate == "fused":
            made = list(g.multi_op("Split", made[0], g.ints(module.width, module.width), outputs=2, axis=-1))
        y = gated(self._b.c, made[0] if len(made) > 1 else None, made[-1], module.activation)
        y = y if module.weighs_inputs else g.op("Mul", y, factors)
        return y if self._down.scale is None else g.op("Mul", y, own(self._down.scale))
