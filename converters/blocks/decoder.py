"""A ModelSpec and its weights become a graph."""

import importlib
import pkgutil
from collections.abc import Sequence

from converters import blocks
from converters.blocks.altup import AltUp
from converters.blocks.context import Build
from converters.blocks.embedding import embed, head
from converters.blocks.module import Place, emit_module
from converters.blocks.norm import norm, stream_norm
from converters.blocks.per_layer import layer_inputs
from converters.blocks.residual import Residual
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import CORRECTED, STREAM, Block, Layer

for found in pkgutil.iter_modules(blocks.__path__):  # importing them registers what they emit
    importlib.import_module(f"{blocks.__name__}.{found.name}")


def build_decoder(b: Build) -> Value:
    """Fill the graph: ids, mask and states in; logits and states out, named as onnxruntime-genai expects.

    Returns the hidden states that the head reads.
    """
    g = b.c.graph
    input_ids = g.input("input_ids", "int64", ("batch_size", "sequence_length"))
    mask = g.input("attention_mask", "int64", ("batch_size", "total_sequence_length"))
    logits_at = len(g.outputs)
    with g.scope("model"):
        inputs = _sequence_inputs(b, input_ids, mask)
        x = embed(b, input_ids, inputs)
        if b.spec.per_layer is not None:
            b.layer_inputs = layer_inputs(b, x, b.spec.per_layer, input_ids)
        residual = Residual(b, x) if b.spec.streams is None else AltUp(b, x, b.spec.streams.count)
        for index, layer in enumerate(b.spec.layers):
            with g.scope(f"layers.{index}"):
                _layer(b, residual, layer, Place(index, f"blk.{layer.index}"), inputs)
        residual.close()
        hidden = b.to_activation(residual.normed(b.spec.output_norm))
        logits = head(b, hidden)
    g.output(logits, "logits", "float32", ("batch_size", "sequence_length", b.spec.vocab))
    g.outputs.insert(logits_at, g.outputs.pop())
    return hidden


def _layer(b: Build, residual: Residual, layer: Layer, place: Place, inputs: SequenceInputs) -> None:
    """All blocks, those that read one input together."""
    residual.enter(place)
    for group in _groups([block for block in layer.blocks if block.reads != CORRECTED]):
        _add(b, residual, group, place, inputs)
    residual.leave(place)
    for block in [block for block in layer.blocks if block.reads == CORRECTED]:
        made = emit_module(b, _as_read(b, residual.corrected(place), block), block.module, place, inputs)
        residual.add_to_others(_result(b, made, block, place))
    if layer.closing_norm is not None:
        residual.renew(layer.closing_norm)
    if layer.closing_scale != 1.0:
        residual.rescale(b.c.number("stream_scale", layer.closing_scale, b.residual_dtype))
    if layer.closing_weight is not None:
        name = f"{place.prefix}.{layer.closing_weight}.weight"
        residual.rescale(b.weights.vector(name, (1,), dtype=b.residual_dtype))


def _groups(blocks: Sequence[Block]) -> list[list[Block]]:
    """Blocks that follow one another; those that read the layer's input stand with the first one."""
    groups: list[list[Block]] = []
    for block in blocks:
        if block.reads == STREAM or not groups:
            groups.append([block])
        else:
            assert len(groups) == 1, "the layer's input is gone once its first blocks' results have joined the stream"
            groups[0].append(block)
    return groups


def _add(b: Build, residual: Residual, group: Sequence[Block], place: Place, inputs: SequenceInputs) -> None:
    """Blocks that read one input; the results are added up and join the stream."""
    first, *others = group
    x = residual.total() if first.norm is None else residual.normed(f"{place.prefix}.{first.norm}")
    x = _as_read(b, x, first)
    made = emit_module(b, x, first.module, place, inputs)
    if place.layer == 0 and first is b.spec.layers[0].blocks[0]:  # joins the stream, from where nothing removes it
        made = b.c.operators.attention.guard(b.c, made, inputs)
    y = _result(b, made, first, place)
    for block in others:
        own = x if block.norm == first.norm else _own_input(b, residual, block, place)
        y = b.c.graph.op("Add", y, _result(b, emit_module(b, own, block.module, place, inputs), block, place))
    residual.add(y)
    for scale in [block.stream_scale for block in group if block.stream_scale != 1.0]:
        residual.rescale(b.c.number("stream_scale", scale, b.residual_dtype))


def _own_input(b: Build, residual: Residual, block: Block, place: Place) -> Value:
    """The stream as it is, through the block's own norm."""
    x = residual.total()
    if block.norm is not None:
        x = norm(b, x, f"{place.prefix}.{block.norm}", b.spec.hidden, dtype=b.residual_dtype)
    return _as_read(b, x, block)


def _as_read(b: Build, x: Value, block: Block) -> Value:
    """From the stream's type to that in which the block reads."""
    return x if block.module.wide else b.to_activation(x)


def _result(b: Build, y: Value, block: Block, place: Place) -> Value:
    """What a block adds, in the stream's type."""
    y = y if block.module.wide else b.to_residual(y)
    if block.post_norm is not None:
        y = stream_norm(b, y, f"{place.prefix}.{block.post_norm}", block.post_epsilon)
    if block.scale != 1.0:
        y = b.c.graph.op("Mul", y, b.c.number("residual_scale", block.scale, b.residual_dtype))
    return y


def _sequence_inputs(b: Build, input_ids: Value, mask: Value) -> SequenceInputs:
    """What attention wants to know of the mask."""
    g = b.c.graph
    with g.scope("mask"):
        counts = g.op("ReduceSum", mask, g.ints(1), keepdims=0)
        last = g.op("Sub", counts, g.ints(1))
        total = g.op("Gather", g.op("Shape", mask), b.c.integer("mask_axis", 1), axis=0)
        return SequenceInputs(g.cast(last, "int32"), g.cast(total, "int32"), input_ids, mask, last)
