"""Token embeddings, quantized or dense, and the head that may share their matrix."""

import numpy as np

from converters.blocks.linear import product, result_scale
from converters.builder import Builder
from converters.graph import MICROSOFT, Value
from converters.quantized import QuantizedMatrix
from converters.weights import DenseMatrix


def embed(b: Builder, input_ids: Value) -> Value:
    """[batch, sequence] token ids -> [batch, sequence, hidden]."""
    matrix = b.weights.matrix("token_embd.weight", (b.spec.vocab, b.spec.hidden))
    with b.graph.scope("embed"):
        if isinstance(matrix, DenseMatrix):
            x = b.graph.op("Gather", matrix.value, input_ids, axis=0)
        else:
            x = _gather_quantized(b, matrix, input_ids)
        if b.spec.embedding_scale != 1.0:
            factor = np.array(b.spec.embedding_scale, b.target.dtype)
            x = b.graph.op("Mul", x, b.graph.constant("embedding_scale", factor))
    result: Value = x
    return result


def _gather_quantized(b: Builder, matrix: QuantizedMatrix, input_ids: Value) -> Value:
    """Rows of a quantized matrix, dequantized; the offset, where there is one, is added per block."""
    layout, g = matrix.layout, b.graph
    grid = layout.grid
    x: Value = g.op(
        "GatherBlockQuantized",
        matrix.flat_codes(g),
        input_ids,
        matrix.scale,
        _zero_points(b, matrix),
        domain=MICROSOFT,
        bits=layout.bits,
        block_size=layout.block_size,
        gather_axis=0,
        quantize_axis=1,
    )
    if matrix.offset is None:
        return x
    offset = g.op("Gather", matrix.offset, input_ids, axis=0)
    blocks = g.op("Reshape", x, g.ints(0, 0, grid.blocks, layout.block_size))
    summed = g.op("Add", blocks, g.op("Unsqueeze", offset, g.ints(-1)))
    result: Value = g.op("Reshape", summed, g.ints(0, 0, layout.columns))
    return result


def _zero_points(b: Builder, matrix: QuantizedMatrix) -> Value:
    """The implicit zero point written out, since execution providers disagree on the default; one byte stored.

    Rows are padded to whole bytes, as the operator demands.
    """
    layout = matrix.layout
    row_bytes = -(-layout.grid.blocks * layout.bits // 8)
    byte = {4: 0x88, 8: 0x80}[layout.bits]
    stored = b.graph.constant(f"zero_point_{layout.bits}", np.array([[byte]], np.uint8))
    result: Value = b.graph.op("Expand", stored, b.graph.ints(layout.rows, row_bytes))
    return result


def head(b: Builder, x: Value) -> Value:
    """[batch, sequence, hidden] -> float32 logits [batch, sequence, vocab]."""
    name = "token_embd.weight" if b.spec.tied_head else "output.weight"
    g = b.graph
    with g.scope("lm_head"):
        logits = product(b, x, b.weights.matrix(name, (b.spec.vocab, b.spec.hidden)))
        if not b.spec.tied_head:
            logits = result_scale(b, logits, "output")
        if "output.bias" in b.weights:
            logits = g.op("Add", logits, b.weights.vector("output.bias", b.spec.vocab))
        if b.spec.final_softcap:
            cap = g.constant("final_softcap", np.array(b.spec.final_softcap, b.target.dtype))
            logits = g.op("Mul", g.op("Tanh", g.op("Div", logits, cap)), cap)
        return logits if b.target.dtype == "float32" else g.cast(logits, "float32")
