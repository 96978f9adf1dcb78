"""Products of each head with a matrix of its own."""

from converters.blocks.context import Build
from converters.graph.graph import Value
from converters.weights.matrix import ExpertStack


def head_products(b: Build, x: Value, name: str, shape: tuple[int, int, int]) -> Value:
    """x [batch, sequence, heads, columns] by a tensor [heads, rows, columns]: [batch, sequence, heads, rows].

    A product for each head, which keeps a quantized tensor as it is, and one correction for all.
    """
    heads, rows, columns = shape
    g, stack = b.c.graph, b.weights.experts(name, [(name, rows)], heads, columns)
    parts = g.multi_op("Split", x, g.ints(*[1] * heads), outputs=heads, axis=2)
    made = [matrix.product(b.c, part) for matrix, part in zip(stack.matrices, parts, strict=True)]
    y = g.op("Concat", *made, axis=2)
    return y if stack.offset is None else g.op("Add", y, _correction(b, x, stack, stack.offset, heads))


def _correction(b: Build, x: Value, stack: ExpertStack, offset: Value, heads: int) -> Value:
    """Sums of x over each block times the offsets [heads, blocks, rows]."""
    assert stack.layout is not None
    g, blocks, size = b.c.graph, stack.layout.block_shape.blocks, stack.layout.block_size
    sums = g.op("ReduceSum", g.op("Reshape", x, g.ints(0, 0, heads * blocks, size)), g.ints(-1), keepdims=0)
    sums = g.op("Transpose", g.op("Reshape", sums, g.ints(0, 0, heads, blocks)), perm=[0, 2, 1, 3])
    return g.op("Transpose", g.op("MatMul", sums, offset), perm=[0, 2, 1, 3])
