"""Matrix products: MatMulNBits with the block-sum correction, or a float MatMul."""

from collections.abc import Sequence

from converters.blocks.context import Builder
from converters.graph.graph import MICROSOFT, Value
from converters.weights.matmulnbits import QuantizedMatrix
from converters.weights.qdq import QdqMatrix
from converters.weights.weights import DenseMatrix, Matrix, Rows
from repack.block_quantized import Layout
from repack.errors import MobiusError


def linear(b: Builder, x: Value, prefix: str, rows: int, columns: int, order: Rows | None = None) -> Value:
    """x [..., columns] @ (`prefix`.weight [rows, columns]).T, plus `prefix`.bias where the file has one."""
    y = result_scale(b, product(b, x, b.weights.matrix(f"{prefix}.weight", (rows, columns), order)), prefix)
    if f"{prefix}.bias" in b.weights:
        if ".ffn_" in prefix and f"{prefix}.scale" in b.weights:  # llama.cpp scales after this bias, or stops
            raise MobiusError(f"{prefix} has both a bias and a scale", "the order of the two is not defined")
        y = b.graph.op("Add", y, b.weights.vector(f"{prefix}.bias", (rows,), order))
    return y


def stackable(b: Builder, prefixes: Sequence[str]) -> bool:
    """Whether the matrices can be one: kept in one quantized type, without biases and second-level scales."""
    kinds = {kind.name if kind else "" for kind in (b.weights.kept(f"{prefix}.weight") for prefix in prefixes)}
    extras = any(f"{prefix}.{extra}" in b.weights for prefix in prefixes for extra in ("bias", "scale"))
    return len(kinds) == 1 and "" not in kinds and not extras


def stacked_linear(
    b: Builder, x: Value, name: str, rows: Sequence[tuple[str, int, Rows | None]], columns: int
) -> Value:
    """x times several `stackable` matrices (prefix, rows, order) at once: [..., sum of rows]."""
    tensors = [(f"{prefix}.weight", count, order) for prefix, count, order in rows]
    return product(b, x, b.weights.stacked(name, tensors, columns))


def result_scale(b: Builder, y: Value, prefix: str) -> Value:
    """y times `prefix`.scale, the second-level scale of NVFP4 and others, where the file has one.

    The product of the matrix is scaled, not its blocks, as in llama.cpp: exact whatever the scale is.
    """
    name = f"{prefix}.scale"
    if name not in b.weights:
        return y
    result: Value = b.graph.op("Mul", y, b.weights.vector(name, (1,)))
    b.weights.records[name].format = f"multiplies the result, {b.target.dtype}"
    return result


def product(b: Builder, x: Value, matrix: Matrix) -> Value:
    """x [..., columns] @ matrix.T."""
    if isinstance(matrix, DenseMatrix):
        return _transposed_matmul(b, x, matrix.value)
    plain = isinstance(matrix, QdqMatrix)
    y = (
        b.graph.op("MatMul", x, matrix.weight(b.graph))
        if isinstance(matrix, QdqMatrix)
        else _matmul_nbits(b, x, matrix)
    )
    if matrix.offset is None:
        return y
    sums = b.shared((x, matrix.layout.block_size), lambda: _block_sums(b, x, matrix.layout))
    correction = b.graph.op("MatMul", sums, matrix.offset) if plain else _transposed_matmul(b, sums, matrix.offset)
    result: Value = b.graph.op("Add", y, correction)
    return result


def _transposed_matmul(b: Builder, x: Value, weight: Value) -> Value:
    """x @ weight.T without moving the weight, which stays as the GGUF has it."""
    if b.target.standard:
        product: Value = b.graph.op("MatMul", x, b.graph.op("Transpose", weight, perm=[1, 0]))
        return product
    result: Value = b.graph.op("FusedMatMul", x, weight, domain=MICROSOFT, transB=1)
    return result


def _matmul_nbits(b: Builder, x: Value, matrix: QuantizedMatrix) -> Value:
    layout = matrix.layout
    derived = {matrix.codes.derived, matrix.scale.derived}
    assert len(derived) == 1, f"{matrix.name}: constant codes beside derived scales give wrong results"
    result: Value = b.graph.op(
        "MatMulNBits",
        x,
        matrix.codes,
        matrix.scale,
        domain=MICROSOFT,
        K=layout.columns,
        N=layout.rows,
        bits=layout.bits,
        block_size=layout.block_size,
        accuracy_level=b.target.accuracy_level,
    )
    return result


def _block_sums(b: Builder, x: Value, layout: Layout) -> Value:
    """Sum of x over each block: [..., columns] -> [..., blocks]."""
    blocks = b.graph.ints(0, 0, layout.block_shape.blocks, layout.block_size)
    grouped = b.graph.op("Reshape", x, blocks, name="blocks")
    result: Value = b.graph.op("ReduceSum", grouped, b.graph.ints(-1), name="blocks", keepdims=0)
    return result
