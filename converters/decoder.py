"""A ModelSpec and its weights become a graph."""

import numpy as np

from converters.blocks.attention import attention
from converters.blocks.embedding import embed, head
from converters.blocks.mlp import gated_mlp
from converters.blocks.norm import add_stream_norm, stream_norm
from converters.builder import Attend, Builder
from converters.graph import Value
from converters.spec import Layer


def build_decoder(b: Builder) -> None:
    """Fill the builder's graph: ids, mask and cache in; logits and cache out, named as onnxruntime-genai expects."""
    g = b.graph
    input_ids = g.input("input_ids", "int64", ("batch_size", "sequence_length"))
    mask = g.input("attention_mask", "int64", ("batch_size", "total_sequence_length"))
    logits_at = len(g.outputs)
    with g.scope("model"):
        attend = _attend(b, mask)
        residual = b.widen(embed(b, input_ids))
        x = b.narrow(stream_norm(b, residual, "blk.0.attn_norm"))
        for index, layer in enumerate(b.spec.layers):
            last = index == len(b.spec.layers) - 1
            following = "output_norm" if last else f"blk.{index + 1}.attn_norm"
            with g.scope(f"layers.{index}"):
                x, residual = _layer(b, x, residual, layer, index, attend, following)
        logits = head(b, x)
    g.output(logits, "logits", "float32", ("batch_size", "sequence_length", b.spec.vocab))
    g.outputs.insert(logits_at, g.outputs.pop())


def _layer(
    b: Builder,
    x: Value,
    residual: Value,
    layer: Layer,
    index: int,
    attend: Attend,
    following: str,
) -> tuple[Value, Value]:
    """One layer on the normed input and the residual stream; returns both for the layer that follows."""
    prefix = f"blk.{index}"
    y = b.widen(attention(b, x, layer.mixer, index, attend))
    if layer.post_norms:
        y = stream_norm(b, y, f"{prefix}.post_attention_norm")
    x, residual = add_stream_norm(b, residual, y, f"{prefix}.ffn_norm")
    y = b.widen(gated_mlp(b, b.narrow(x), layer.feed_forward, prefix))
    if layer.post_norms:
        y = stream_norm(b, y, f"{prefix}.post_ffw_norm")
    x, residual = add_stream_norm(b, residual, y, following)
    return b.narrow(x), residual


def _attend(b: Builder, mask: Value) -> Attend:
    """What GroupQueryAttention wants to know of the mask, which it must not see itself."""
    g = b.graph
    with g.scope("mask"):
        counts = g.op("ReduceSum", mask, g.ints(1), keepdims=0)
        last = g.op("Sub", counts, g.ints(1))
        total = g.op("Gather", g.op("Shape", mask), g.constant("mask_axis", np.array(1, np.int64)), axis=0)
        return Attend(g.cast(last, "int32"), g.cast(total, "int32"))
