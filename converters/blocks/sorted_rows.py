"""Tokens in the order of the experts they take: every expert's product has the rows that are its own, and no others."""

from dataclasses import dataclass

import numpy as np

from converters.blocks.context import Build
from converters.graph.graph import Value
from converters.spec import Experts
from converters.weights.matrix import ExpertStack, block_sums
from repack.block_quantized import Layout

TILE = 8  # rows of one expert that share its offsets: fewer waste copies of offsets, more waste products


@dataclass(frozen=True)
class _Tiles:
    """Rows of one expert, `size` by `size`: the sorted row of each place (`rows` itself: none), and back."""

    size: Value  # [1]
    experts: Value  # [tiles]
    rows: Value  # [tiles * size]
    places: Value  # [rows]


class SortedRows:
    """A row for each token and each expert it takes, experts in order; values are [1, rows, ...]."""

    def __init__(self, b: Build, experts: Value, module: Experts) -> None:
        """experts: those of each token, int64 [1, tokens, used]."""
        self.count, self._b, self._used = module.count, b, module.used
        g = b.c.graph
        flat = g.op("Reshape", experts, g.ints(-1))
        self._rows = g.op("Shape", flat)
        self._experts, self._order = g.multi_op("TopK", flat, self._rows, outputs=2, axis=0, largest=0)
        self._tokens = g.op("Div", self._order, b.c.integer(f"used_experts_{module.used}", module.used))
        numbers = g.constant(f"expert_numbers_{module.count}", np.arange(module.count, dtype=np.int64)[None])
        own = g.op("Equal", g.op("Unsqueeze", flat, g.ints(1)), numbers)
        self._counts = g.op("ReduceSum", g.cast(own, "int64"), g.ints(0), keepdims=0)

    def of_tokens(self, x: Value) -> Value:
        """[1, tokens, n] -> [1, rows, n]."""
        return self._b.c.graph.op("Gather", x, self._tokens, axis=1)

    def of_experts(self, x: Value) -> Value:
        """[experts, n] -> [rows, n]."""
        return self._b.c.graph.op("Gather", x, self._experts, axis=0)

    def of_pairs(self, x: Value) -> Value:
        """[1, tokens, used] -> [1, rows, 1]."""
        g = self._b.c.graph
        return g.op("Gather", g.op("Reshape", x, g.ints(1, -1, 1)), self._order, axis=1)

    def back(self, y: Value, width: int) -> Value:
        """[1, rows, width] -> [tokens, used, width], as the router ordered them."""
        g = self._b.c.graph
        places = g.op("ScatterElements", self._order, self._order, self._numbers(), axis=0)
        return g.op("Reshape", g.op("Gather", y, places, axis=1), g.ints(-1, self._used, width))

    def product(self, x: Value, stack: ExpertStack) -> Value:
        """x [1, rows, columns]: every row times its expert's matrix."""
        c, g = self._b.c, self._b.c.graph
        parts = g.multi_op("Split", x, self._counts, outputs=self.count, axis=1)
        made = [matrix.product(c, part) for matrix, part in zip(stack.matrices, parts, strict=True)]
        y = g.op("Concat", *made, axis=1)
        if stack.offset is None or stack.layout is None:
            return y
        return g.op("Add", y, self._correction(block_sums(c, x, stack.layout), stack.offset, stack.layout))

    def _correction(self, sums: Value, offset: Value, layout: Layout) -> Value:
        """Block sums [1, rows, blocks] times each expert's offsets [experts, blocks, n]: [1, rows, n]."""
        g, tiles = self._b.c.graph, self._b.c.shared((self._rows, "tiles"), self._tiles)
        padded = g.op("Pad", sums, g.ints(0, 0, 0, 0, 1, 0))  # a row of zeros for places that are empty
        placed = g.op("Gather", padded, tiles.rows, axis=1)
        sizes = g.op("Concat", g.ints(-1), tiles.size, g.ints(layout.block_shape.blocks), axis=0)
        blocks = g.op("Reshape", placed, sizes)
        made = g.op("MatMul", blocks, g.op("Gather", offset, tiles.experts, axis=0))
        return g.op("Gather", g.op("Reshape", made, g.ints(1, -1, layout.rows)), tiles.places, axis=1)

    def _numbers(self) -> Value:
        """0, 1, ... for each row."""
        c, g = self._b.c, self._b.c.graph

        def make() -> Value:
            zero, one = c.integer("zero_index", 0), c.integer("one_index", 1)
            return g.op("Range", zero, g.op("Squeeze", self._rows), one)

        return c.shared((self._rows, "numbers"), make)

    def _tiles(self) -> _Tiles:
        """An expert's rows begin a tile; its last one may have empty places."""
        c, g = self._b.c, self._b.c.graph
        # Of so few rows that most experts have one at most, each is a tile: decoding wastes no products.
        many = g.op("Greater", self._rows, g.ints(self.count))
        size, axis = g.op("Where", many, g.ints(TILE), g.ints(1)), c.integer("zero_index", 0)
        counts = g.op("Div", g.op("Add", self._counts, g.op("Sub", size, g.ints(1))), size)
        first_row, first_tile = (g.op("CumSum", n, axis, exclusive=1) for n in (self._counts, counts))
        rank = g.op("Sub", self._numbers(), g.op("Gather", first_row, self._experts, axis=0))
        start = g.op("Mul", g.op("Gather", first_tile, self._experts, axis=0), size)
        places = g.op("Add", start, rank)
        total = g.op("ReduceSum", counts, g.ints(0), keepdims=1)
        empty = g.op("Expand", self._rows, g.op("Mul", total, size))
        rows = g.op("ScatterElements", empty, places, self._numbers(), axis=0)
        none = g.op("Expand", g.ints(0), total)
        experts = g.op("ScatterElements", none, g.op("Div", places, size), self._experts, axis=0)
        return _Tiles(size, experts, rows, places)
