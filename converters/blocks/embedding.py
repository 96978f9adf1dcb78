"""Token embeddings, quantized or dense, and the head that may share their matrix."""

from converters.blocks.context import Build
from converters.blocks.linear import result_scale
from converters.blocks.norm import norm, plain_norm
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.graph.positions import positions


def embed(b: Build, input_ids: Value, inputs: SequenceInputs) -> Value:
    """[batch, sequence] token ids -> [batch, sequence, hidden]."""
    g, spec = b.c.graph, b.spec
    with g.scope("embed"):
        x = _rows(b, f"{spec.embedding}.weight", spec.vocab, input_ids)
        if spec.learned_positions:
            x = g.op("Add", x, _rows(b, "position_embd.weight", spec.context_length, positions(b.c, inputs)))
        if spec.embedding_scale != 1.0:
            x = g.op("Mul", x, b.c.number("embedding_scale", spec.embedding_scale))
        if spec.embedding_norm:
            x = norm(b, x, "token_embd_norm", spec.hidden)
        if spec.plain_embedding_norm:
            x = plain_norm(b, x, spec.hidden)
    return x


def _rows(b: Build, name: str, rows: int, index: Value) -> Value:
    """Rows of a matrix [rows, hidden]."""
    matrix = b.weights.matrix(name, (rows, b.spec.hidden), gathered=name != f"{b.spec.head}.weight")
    return matrix.gather(b.c, index)


def head(b: Build, x: Value) -> Value:
    """[batch, sequence, hidden] -> float32 logits [batch, sequence, vocab]."""
    c, g, spec = b.c, b.c.graph, b.spec
    with g.scope("lm_head"):
        logits = b.weights.matrix(f"{spec.head}.weight", (spec.vocab, spec.hidden)).product(c, x)
        if not spec.tied_head:
            logits = result_scale(b, logits, spec.head)
        if f"{spec.head}.bias" in b.weights:
            logits = g.op("Add", logits, b.weights.vector(f"{spec.head}.bias", (spec.vocab,)))
        if spec.logit_scale != 1.0:
            logits = g.op("Mul", logits, c.number("logit_scale", spec.logit_scale))
        if spec.final_softcap:
            cap = c.number("final_softcap", spec.final_softcap)
            logits = g.op("Mul", g.op("Tanh", g.op("Div", logits, cap)), cap)
        return logits if c.target.dtype == "float32" else g.cast(logits, "float32")
