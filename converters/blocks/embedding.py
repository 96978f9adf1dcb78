"""Token embeddings, quantized or dense, and the head that may share their matrix."""

import numpy as np

from converters.blocks.context import Attend, Builder, positions
from converters.blocks.linear import product, result_scale
from converters.blocks.norm import norm
from converters.graph.graph import MICROSOFT, Value
from converters.weights.matmulnbits import QuantizedMatrix
from converters.weights.qdq import QdqMatrix
from converters.weights.weights import DenseMatrix


def embed(b: Builder, input_ids: Value, attend: Attend) -> Value:
    """[batch, sequence] token ids -> [batch, sequence, hidden]."""
    g, spec = b.graph, b.spec
    with g.scope("embed"):
        x = _rows_of(b, f"{spec.embedding}.weight", spec.vocab, input_ids)
        if spec.learned_positions:
            x = g.op("Add", x, _rows_of(b, "position_embd.weight", spec.context_length, positions(b, attend)))
        if spec.embedding_scale != 1.0:
            x = g.op("Mul", x, b.number("embedding_scale", spec.embedding_scale))
        if spec.embedding_norm:
            x = norm(b, x, "token_embd_norm", spec.hidden)
    return x


def _rows_of(b: Builder, name: str, rows: int, index: Value) -> Value:
    """Rows of a matrix [rows, hidden]."""
    matrix = b.weights.matrix(name, (rows, b.spec.hidden), looked_up=name != f"{b.spec.head}.weight")
    if isinstance(matrix, DenseMatrix):
        result: Value = b.graph.op("Gather", matrix.value, index, axis=0)
        return result
    if isinstance(matrix, QdqMatrix):
        return _gather_dequantized(b, matrix, index)
    return _gather_quantized(b, matrix, index)


def _gather_quantized(b: Builder, matrix: QuantizedMatrix, input_ids: Value) -> Value:
    """Rows of a quantized matrix, dequantized; the offset, where there is one, is added per block."""
    layout, g = matrix.layout, b.graph
    blocked = layout.block_shape
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
    blocks = g.op("Reshape", x, g.ints(0, 0, blocked.blocks, layout.block_size))
    summed = g.op("Add", blocks, g.op("Unsqueeze", offset, g.ints(-1)))
    result: Value = g.op("Reshape", summed, g.ints(0, 0, layout.columns))
    return result


def _gather_dequantized(b: Builder, matrix: QdqMatrix, input_ids: Value) -> Value:
    """Rows of a matrix, dequantized block by block.

    One that stands transposed for the head is transposed back when a session starts. That is a copy in memory, and has
    to be: ONNX Runtime fuses the head's DequantizeLinear only if nothing else reads its inputs. 4-bit codes are
    widened, since Gather does not take them.
    """
    g, layout, kind = b.graph, matrix.layout, b.target.dtype
    codes = matrix.codes if layout.bits == 8 else g.cast(matrix.codes, "int8")

    def rows(stored: Value, *shape: int) -> Value:
        upright = stored if matrix.rows_first else g.op("Transpose", stored, perm=[1, 0])
        found = g.op("Gather", upright, input_ids, axis=0)
        blocks: Value = g.op("Reshape", found, g.ints(0, 0, *shape))
        return blocks

    count = layout.block_shape.blocks
    x = g.op("Mul", g.cast(rows(codes, count, layout.block_size), kind), rows(matrix.scale, count, 1))
    if matrix.offset is not None:
        x = g.op("Add", x, rows(matrix.offset, count, 1))
    result: Value = g.op("Reshape", x, g.ints(0, 0, layout.columns))
    return result


def _zero_points(b: Builder, matrix: QuantizedMatrix) -> Value:
    """The implicit zero point written out, since execution providers disagree on the default; one byte stored.

    Rows are padded to whole bytes, as the operator demands.
    """
    layout = matrix.layout
    row_bytes = -(-layout.block_shape.blocks * layout.bits // 8)
    byte = {4: 0x88, 8: 0x80}[layout.bits]
    stored = b.graph.constant(f"zero_point_{layout.bits}", np.array([[byte]], np.uint8))
    result: Value = b.graph.op("Expand", stored, b.graph.ints(layout.rows, row_bytes))
    return result


def head(b: Builder, x: Value) -> Value:
    """[batch, sequence, hidden] -> float32 logits [batch, sequence, vocab]."""
    g, spec = b.graph, b.spec
    with g.scope("lm_head"):
        logits = product(b, x, b.weights.matrix(f"{spec.head}.weight", (spec.vocab, spec.hidden)))
        if not spec.tied_head:
            logits = result_scale(b, logits, spec.head)
        if f"{spec.head}.bias" in b.weights:
            logits = g.op("Add", logits, b.weights.vector(f"{spec.head}.bias", (spec.vocab,)))
        if spec.logit_scale != 1.0:
            logits = g.op("Mul", logits, b.number("logit_scale", spec.logit_scale))
        if spec.final_softcap:
            cap = b.number("final_softcap", spec.final_softcap)
            logits = g.op("Mul", g.op("Tanh", g.op("Div", logits, cap)), cap)
        return logits if b.target.dtype == "float32" else g.cast(logits, "float32")
