"""A ModelSpec and its weights become a graph."""

import numpy as np

from converters.blocks.context import Attend, Builder
from converters.blocks.embedding import embed, head
from converters.blocks.mixers import mix
from converters.blocks.mlp import feed_forward
from converters.blocks.norm import norm, stream_norm
from converters.blocks.residual import Residual
from converters.graph.graph import Value
from converters.spec import Layer, Mixer


def build_decoder(b: Builder) -> None:
    """Fill the builder's graph: ids, mask and cache in; logits and cache out, named as onnxruntime-genai expects."""
    g = b.graph
    input_ids = g.input("input_ids", "int64", ("batch_size", "sequence_length"))
    mask = g.input("attention_mask", "int64", ("batch_size", "total_sequence_length"))
    logits_at = len(g.outputs)
    with g.scope("model"):
        attend = _attend(b, input_ids, mask)
        residual = Residual(b, embed(b, input_ids, attend))
        for index, layer in enumerate(b.spec.layers):
            with g.scope(f"layers.{index}"):
                _layer(b, residual, layer, attend)
        logits = head(b, b.narrow(residual.normed("output_norm")))
    g.output(logits, "logits", "float32", ("batch_size", "sequence_length", b.spec.vocab))
    g.outputs.insert(logits_at, g.outputs.pop())


def _layer(b: Builder, residual: Residual, layer: Layer, attend: Attend) -> None:
    """Both blocks of a layer, added to the residual stream one after the other or together."""
    if layer.mixer is not None:
        _with_mixer(b, residual, layer, layer.mixer, attend)
    if not layer.parallel:
        prefix, norms = f"blk.{layer.block}", layer.norms
        x = _input(b, residual, prefix, norms.feed_forward)
        residual.add(_output(b, feed_forward(b, x, layer.feed_forward, prefix), layer, norms.after_feed_forward))
    if layer.closing_norm is not None:
        residual.renew(layer.closing_norm)


def _with_mixer(b: Builder, residual: Residual, layer: Layer, mixer: Mixer, attend: Attend) -> None:
    """The first block; and the second with it where they are parallel."""
    prefix, norms = f"blk.{layer.block}", layer.norms
    x = _input(b, residual, prefix, norms.attention)
    y = _output(b, mix(b, x, mixer, prefix, attend), layer, norms.after_attention)
    if layer.parallel:
        if norms.feed_forward != norms.attention:
            wide = norm(b, residual.total(), f"{prefix}.{norms.feed_forward}", b.spec.hidden, dtype=b.stream_dtype)
            x = b.narrow(wide)
        z = _output(b, feed_forward(b, x, layer.feed_forward, prefix), layer, norms.after_feed_forward)
        y = b.graph.op("Add", y, z)
    residual.add(y)


def _input(b: Builder, residual: Residual, prefix: str, name: str | None) -> Value:
    """What a block sees, in the activation type."""
    return b.narrow(residual.total() if name is None else residual.normed(f"{prefix}.{name}"))


def _output(b: Builder, y: Value, layer: Layer, name: str | None) -> Value:
    """What a block adds, in the stream's type."""
    y = b.widen(y)
    if name is not None:
        y = stream_norm(b, y, f"blk.{layer.block}.{name}")
    if layer.residual_scale != 1.0:
        y = b.graph.op("Mul", y, b.number("residual_scale", layer.residual_scale, b.stream_dtype))
    return y


def _attend(b: Builder, input_ids: Value, mask: Value) -> Attend:
    """What GroupQueryAttention wants to know of the mask, which it must not see itself."""
    g = b.graph
    with g.scope("mask"):
        counts = g.op("ReduceSum", mask, g.ints(1), keepdims=0)
        last = g.op("Sub", counts, g.ints(1))
        total = g.op("Gather", g.op("Shape", mask), g.constant("mask_axis", np.array(1, np.int64)), axis=0)
        return Attend(g.cast(last, "int32"), g.cast(total, "int32"), input_ids, mask, last)
