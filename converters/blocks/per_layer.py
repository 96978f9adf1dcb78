"""Embeddings of each layer's own: looked up for all layers at once, and how a layer reads its part."""

from converters.blocks.activation import activation
from converters.blocks.context import Build
from converters.blocks.linear import linear, wide_linear
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import PerLayerEmbedding, PerLayerInput


def layer_inputs(b: Build, x: Value, spec: PerLayerEmbedding, input_ids: Value) -> tuple[Value, ...]:
    """The embedding x [batch, sequence, hidden] and its ids -> for each layer [batch, sequence, width].

    The table's rows are looked up as they are stored.
    """
    c, g, layers, width = b.c, b.c.graph, len(b.spec.layers), spec.width
    with g.scope("per_layer"):
        table = b.weights.matrix("per_layer_token_embd.weight", (b.spec.vocab, layers * width), gathered=True)
        looked_up = g.op("Mul", table.gather(c, input_ids), c.number("table_scale", spec.table_scale))
        made = linear(b, x, "per_layer_model_proj", layers * width, b.spec.hidden)
        made = g.op("Mul", made, c.number("projection_scale", spec.projection_scale))
        made = norm(b, g.op("Reshape", made, g.ints(0, 0, layers, width)), "per_layer_proj_norm", width)
        total = g.op("Add", g.op("Reshape", made, g.ints(0, 0, layers * width)), looked_up)
        total = g.op("Mul", total, c.number("sum_scale", spec.sum_scale))
        # Without sizes: ONNX Runtime 1.23 infers no shapes from more than 16 of them, and stops.
        return g.multi_op("Split", total, outputs=layers, axis=-1, num_outputs=layers)


@emits(PerLayerInput)
def per_layer_input(b: Build, x: Value, module: PerLayerInput, place: Place, _: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden], both in the residual stream's type."""
    assert b.spec.per_layer is not None
    g, hidden, width = b.c.graph, b.spec.hidden, b.spec.per_layer.width
    with g.scope("per_layer"):
        gate = wide_linear(b, x, f"{place.prefix}.inp_gate", width, hidden)
        opened = activation(b.c, gate, module.activation)
        y = g.op("Mul", opened, b.to_residual(b.layer_inputs[place.layer]))
        return wide_linear(b, y, f"{place.prefix}.proj", hidden, width)
