"""A feed-forward and experts side by side, each with norms of its own."""

from converters.blocks.context import WIDE, Build
from converters.blocks.experts import mixture
from converters.blocks.mlp import feed_forward
from converters.blocks.module import Place, emits
from converters.blocks.norm import norm, stream_norm
from converters.graph.context import SequenceInputs
from converters.graph.graph import Value
from converters.spec import DenseAndExperts


@emits(DenseAndExperts)
def dense_and_experts(b: Build, x: Value, module: DenseAndExperts, place: Place, _: SequenceInputs) -> Value:
    """[batch, sequence, hidden] -> [batch, sequence, hidden], both in the residual stream's type."""
    prefix = place.prefix

    def read(name: str) -> Value:
        return b.to_activation(stream_norm(b, x, f"{prefix}.{name}"))

    def made(y: Value, name: str) -> Value:
        return stream_norm(b, b.to_residual(y), f"{prefix}.{name}")

    dense = made(feed_forward(b, read("ffn_norm"), module.dense, prefix), "post_ffw_norm_1")
    mixed = mixture(b, read("pre_ffw_norm_2"), _asked(b, x, prefix), module.experts, place)
    return b.c.graph.op("Add", dense, made(mixed, "post_ffw_norm_2"))


def _asked(b: Build, x: Value, prefix: str) -> Value:
    """What the router reads, in float32: near choices are choices."""
    g, hidden = b.c.graph, b.spec.hidden
    with g.scope("router"):
        wide = x if b.residual_dtype == WIDE else g.cast(x, WIDE)
        y = norm(b, wide, f"{prefix}.ffn_gate_inp.scale", hidden, dtype=WIDE)
        return g.op("Mul", y, b.c.number("router_input_scale", hidden**-0.5, WIDE))
